"""The definitions for any rows, as plain loops: tasks that come again, and tasks without a row of their own.

``R[r][j]`` are the rows that end a task, a visit or a batch; ``first[j]`` the row by which task j was first learned;
``own[j]`` whether that row came right after it. Values are those of the last row. Nothing imports numpy or recollect.
"""

from __future__ import annotations


def mean(terms):
    terms = list(terms)
    return sum(terms) / len(terms) if terms else None


class Rows:
    """What the definitions ask: pairs of a row and a task, before, at and after its first learning."""

    def __init__(self, R, first, own):
        self.R, self.first, self.own = R, first, own
        self.now = len(R) - 1
        self.tasks = range(len(first))
        # Forgetting is measured on tasks that have an own row before now.
        self.before = [j for j in self.tasks if own[j] and first[j] < self.now]
        self.upto = [j for j in self.tasks if own[j] and first[j] <= self.now]

    def since(self, j, last):
        return [self.R[i][j] for i in range(self.first[j], last + 1)]

    def drop(self, j):
        return max(self.since(j, self.now - 1)) - self.R[self.now][j]

    def learned(self, i):
        return [j for j in self.tasks if self.first[j] <= i]


def acc_average(s):
    return mean(s.R[s.now][j] for j in s.learned(s.now))


def acc_incremental(s):
    return mean(mean(s.R[i][j] for j in s.learned(i)) for i in range(s.now + 1) if s.learned(i))


def acc_continual_average(s):
    return mean(s.R[i][j] for i in range(s.now + 1) for j in s.learned(i))


def acc_learning(s):
    return mean(s.R[s.first[j]][j] for j in s.upto)


def acc_minimum(s):
    lows = [s.R[s.first[j] + s.own[j] : s.now + 1] and min(r[j] for r in s.R[s.first[j] + s.own[j] :]) for j in s.tasks]
    return mean(low for low in lows if low != [])


def forgetting_chaudhry2018(s):
    return mean(s.drop(j) for j in s.before)


def forgetting_first(s):
    return mean(s.R[s.first[j]][j] - s.R[s.now][j] for j in s.before)


def forgetting_pycil(s):
    return mean(max(s.drop(j), 0) for j in s.before)


def forgetting_peak_any(s):
    return mean(max(s.R[i][j] for i in range(s.now)) - s.R[s.now][j] for j in s.before)


def forgetting_raptormai(s):
    return mean(max(s.R[i][j] for i in range(s.now + 1)) - s.R[s.now][j] for j in s.upto) if s.now else None


def forgetting_pyclad_code(s):
    return mean(max(s.R[i][j] for i in range(s.now)) - s.R[s.now][j] for j in s.upto) if s.now else None


def forgetting_clsurvey(s):
    total = sum(s.R[s.first[j]][j] - s.R[s.now][j] for j in s.before)
    return total / len(s.upto) if s.now and s.upto else None


def forgetting_relative(s):
    return mean(s.drop(j) / max(s.since(j, s.now - 1)) for j in s.before)


def bwt_lopezpaz2017(s):
    return mean(s.R[s.now][j] - s.R[s.first[j]][j] for j in s.before)


def bwt_diazrodriguez2018(s):
    return mean(s.R[i][j] - s.R[s.first[j]][j] for j in s.before for i in range(s.first[j] + 1, s.now + 1))


def bwt_pyclad_code(s):
    return mean(s.R[i][j] - s.R[i - 1][j] for j in s.before for i in range(s.first[j] + 1, s.now + 1))


def fwt_diazrodriguez2018(s):
    return mean(s.R[i][j] for j in s.tasks for i in range(s.first[j]))


def definitions():
    """Every loop by the id it stands for."""
    families = ("acc", "forgetting", "bwt", "fwt")
    names = [name for name in globals() if name.split("_")[0] in families]
    return {name.replace("_", ".", 1): globals()[name] for name in names}

"""Every definition once more, as plain loops over lists: slow, obvious, and independent of the package.

Written from the formulas of the catalogue for a square matrix ``R[i][j]`` (0-based, row i after task i), each
at row ``k``. ``None`` is "undefined". Nothing here imports numpy or recollect.
"""

from __future__ import annotations


def mean(terms):
    terms = list(terms)
    return sum(terms) / len(terms) if terms else None


def acc_average(R, k):
    return mean(R[k][j] for j in range(k + 1))


def acc_incremental(R, k):
    return mean(acc_average(R, i) for i in range(k + 1))


def acc_continual_average(R, k):
    return sum(R[i][j] for i in range(k + 1) for j in range(i + 1)) / ((k + 1) * (k + 2) / 2)


def acc_learning(R, k):
    return mean(R[j][j] for j in range(k + 1))


def acc_pooled(R, k, n_samples):
    right = sum(n_samples[j] * R[k][j] for j in range(k + 1))
    return right / sum(n_samples[: k + 1])


def acc_incremental_pooled(R, k, n_samples):
    return mean(acc_pooled(R, i, n_samples) for i in range(k + 1))


def acc_minimum(R, k):
    return mean(min(R[i][j] for i in range(j + 1, k + 1)) for j in range(k))


def acc_worst_case(R, k):
    if k == 0:
        return R[0][0]
    return R[k][k] / (k + 1) + (1 - 1 / (k + 1)) * acc_minimum(R, k)


def forgetting_chaudhry2018(R, k):
    return mean(max(R[i][j] for i in range(j, k)) - R[k][j] for j in range(k))


def forgetting_begin_docs(R, k):
    return None if k == 0 else sum(R[k][j] - R[j][j] for j in range(k)) / (k + 1)


def forgetting_first(R, k):
    return mean(R[j][j] - R[k][j] for j in range(k))


def forgetting_peak_any(R, k):
    return mean(max(R[i][j] for i in range(k)) - R[k][j] for j in range(k))


def forgetting_pycil(R, k):
    return mean(max(R[i][j] for i in range(j, k + 1)) - R[k][j] for j in range(k))


def forgetting_raptormai(R, k):
    if k == 0:
        return None
    return mean(max(R[i][j] for i in range(k + 1)) - R[k][j] for j in range(k + 1))


def forgetting_clsurvey(R, k):
    return None if k == 0 else sum(R[j][j] - R[k][j] for j in range(k)) / (k + 1)


def forgetting_pyclad_code(R, k):
    if k == 0:
        return None
    return mean(max(R[i][j] for i in range(k)) - R[k][j] for j in range(k + 1))


def forgetting_relative(R, k):
    shares = []
    for j in range(k):
        peak = max(R[i][j] for i in range(j, k))
        if peak == 0:
            return None
        shares.append((peak - R[k][j]) / abs(peak))
    return mean(shares)


def bwt_diazrodriguez2018(R, k):
    return mean(R[i][j] - R[j][j] for i in range(k + 1) for j in range(i))


def bwt_lopezpaz2017(R, k):
    return mean(R[k][j] - R[j][j] for j in range(k))


def bwt_gem_code(R, k):
    return None if k == 0 else sum(R[k][j] - R[j][j] for j in range(k)) / (k + 1)


def bwt_pyclad_code(R, k):
    return mean(R[i][j] - R[i - 1][j] for i in range(k + 1) for j in range(i))


def bwt_positive(R, k):
    return None if k == 0 else max(bwt_diazrodriguez2018(R, k), 0)


def bwt_remembering(R, k):
    return None if k == 0 else 1 - abs(min(bwt_diazrodriguez2018(R, k), 0))


def fwt_diazrodriguez2018(R, k):
    return mean(R[i][j] for i in range(k + 1) for j in range(i + 1, k + 1))


def fwt_begin_docs(R, k, b):
    return None if k == 0 else sum(R[j - 1][j] - b[j] for j in range(1, k + 1)) / (k + 1)


def fwt_lopezpaz2017(R, k, b):
    return mean(R[j - 1][j] - b[j] for j in range(1, k + 1))


def fwt_continuum(R, k):
    return mean(R[j - 1][j] for j in range(1, k + 1))


def intransigence_begin(R, k, joint):
    return mean(joint[i][i] - R[i][i] for i in range(k + 1))


def intransigence_chaudhry2018(R, k, joint):
    return joint[k][k] - R[k][k]


def random_matrix(n_classes):
    """The random classifier of Michel et al. 2023: 1 / (classes seen) in every cell of a row."""
    T = len(n_classes)
    return [[1 / sum(n_classes[: k + 1])] * T for k in range(T)]


def uraa_michel2023(R, k, n_classes):
    return acc_average(R, k) / acc_average(random_matrix(n_classes), k)


def raa_michel2023(R, k, n_classes):
    reference = random_matrix(n_classes)
    largest = max(1 / acc_average(reference, i) for i in range(len(R)))
    return uraa_michel2023(R, k, n_classes) / largest


def uraf_michel2023(R, k, n_classes):
    if k == 0:
        return None
    return forgetting_chaudhry2018(R, k) / forgetting_chaudhry2018(random_matrix(n_classes), k)


def raf_michel2023(R, k, n_classes):
    if k == 0:
        return None
    reference = random_matrix(n_classes)
    largest = max(1 / forgetting_chaudhry2018(reference, i) for i in range(1, len(R)))
    return uraf_michel2023(R, k, n_classes) / largest


def anytime_average(R, k):
    return mean(acc_average(R, i) for i in range(k + 1))


def anytime_auc(R, k, steps):
    area, before = 0.0, 0
    for i in range(k + 1):
        area += (steps[i] - before) * acc_average(R, i)
        before = steps[i]
    return area / steps[k]


def _windowed(R, k, window, sign):
    largest = []
    for j in range(k + 1):
        changes = [0.0]
        for a in range(j, k + 1):
            for b in range(a + 1, min(a + window, k + 1)):
                changes.append(sign * (R[a][j] - R[b][j]))
        largest.append(max(changes))
    return mean(largest)


def anytime_windowed_forgetting(R, k, window=10):
    return _windowed(R, k, window, 1)


def anytime_windowed_plasticity(R, k, window=10):
    return _windowed(R, k, window, -1)


def peak_row(R, k, j):
    """The earliest row from j to k - 1 at which task j scored best."""
    best = j
    for i in range(j, k):
        if R[i][j] > R[best][j]:
            best = i
    return best


def split_lost(R, k, restricted):
    return mean(restricted[p][j][p] - restricted[k][j][p] for j in range(k) for p in [peak_row(R, k, j)])


def split_confusion(R, k, restricted):
    return mean(restricted[k][j][p] - restricted[k][j][k] for j in range(k) for p in [peak_row(R, k, j)])


def split_within(R, k, masked):
    return mean(masked[p][j] - masked[k][j] for j in range(k) for p in [peak_row(R, k, j)])


def split_older(R, k, masked, asked):
    def confused(row, j):
        return masked[row][j] - asked[row][j]

    return mean(confused(k, j) - confused(peak_row(R, k, j), j) for j in range(k))


def split_newer(R, k, asked):
    def confused(row, j):
        return asked[row][j] - R[row][j]

    return mean(confused(k, j) - confused(peak_row(R, k, j), j) for j in range(k))


def split_chance(R, k, n_classes):
    return mean(
        1 / sum(n_classes[: p + 1]) - 1 / sum(n_classes[: k + 1]) for j in range(k) for p in [peak_row(R, k, j)]
    )


def acc_all_cells(R, k):
    return mean(R[i][j] for i in range(k + 1) for j in range(k + 1))


def fwt_zscl(R, k):
    return mean(mean(R[i][j] for i in range(j)) for j in range(1, k + 1))


def fwt_single(R, k, single):
    return mean(R[j][j] - single[j] for j in range(k + 1))


def fwt_continual_world(R, k, single_auc):
    """One evaluation in each block: the area is the score itself."""
    return mean((R[j][j] - single_auc[j]) / (1 - single_auc[j]) for j in range(k + 1))


def forgetting_continual_world(R, k):
    return None if k == 0 else mean(R[j][j] - R[k][j] for j in range(k + 1))


def forgetting_libcontinual(R, k):
    return None if k < 2 else sum(R[j][j] - R[k][j] for j in range(k - 1)) / k


def bwt_libcontinual(R, k):
    if k < 2:
        return None
    return sum(R[i][j] - R[j][j] for i in range(k + 1) for j in range(i - 1)) / (k * (k + 1) / 2)


def anytime_online(R, k, online):
    return mean(online[: k + 1])


def anytime_near_future(R, k, near_future):
    return mean(near_future[: k + 1])


def plasticity_slope(R, k):
    if k == 0:
        return None
    middle = k / 2
    return sum((j - middle) * R[j][j] for j in range(k + 1)) / sum((j - middle) ** 2 for j in range(k + 1))


def probe_forgetting(R, k, probe):
    return forgetting_chaudhry2018(probe, k)


def probe_average(R, k, probe):
    return acc_average(probe, k)


def held_out_delta(R, k, b, held):
    return mean(R[k][h] - b[h] for h in held)


def held_out_relative(R, k, b, held):
    return mean((b[h] - R[k][h]) / abs(b[h]) for h in held)


def held_out_ratio(R, k, b, held):
    return mean(R[k][h] / b[h] for h in held)


_FAMILIES = (
    "acc",
    "forgetting",
    "bwt",
    "fwt",
    "intransigence",
    "raa",
    "uraa",
    "raf",
    "uraf",
    "anytime",
    "split",
    "plasticity",
    "probe",
    "held",
)


def definitions():
    """Every loop by the id it stands for."""
    names = [name for name in globals() if name.split("_")[0] in _FAMILIES]
    ids = (
        name.replace("held_out_", "held_out.") if name.startswith("held") else name.replace("_", ".", 1)
        for name in names
    )
    return {id: globals()[name] for id, name in zip(ids, names, strict=True)}


def curve(id, R, **inputs):
    """The loop of `id` at every row; NaN where undefined."""
    values = (definitions()[id](R, k, **inputs) for k in range(len(R)))
    return [float("nan") if value is None else value for value in values]

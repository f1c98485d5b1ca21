"""Runs over seeds: grouped, stacked, and paired with the joint learner's runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

from recollect.errors import UsageError
from recollect.matrix import ScoreMatrix
from recollect.runs.alike import matrix_of_alike
from recollect.runs.reduced import at_rows, at_task_ends
from recollect.runs.run import Run


@dataclass(frozen=True)
class Group:
    """The runs of one learner (with one configuration) on one stream, over seeds."""

    runs: tuple[Run, ...]

    @property
    def learner(self) -> str:
        return self.runs[0].learner

    @property
    def learner_config(self) -> Mapping[str, Any]:
        return self.runs[0].learner_config

    @property
    def told_by(self) -> dict[str, Any]:
        """What tells a group from others of the same learner's name: options, feeding, code, training samples."""
        known = next((run.identity for run in self.runs if run.identity is not None), None)
        if known is None:
            return dict(self.learner_config)
        code = " ".join(known.code.values())[:6]
        return {**known.feeding, "training": known.training[:6], "code": code, **known.options, **self.learner_config}

    @property
    def stream(self) -> str:
        return self.runs[0].stream

    @property
    def family(self) -> str:
        return self.runs[0].family

    @property
    def metric(self) -> str:
        return self.runs[0].metric

    @property
    def seeds(self) -> tuple[int | None, ...]:
        return tuple(run.seed for run in self.runs)

    @property
    def keys(self) -> tuple[int | str, ...]:
        """What runs of learners are paired by: the seed, and where there is none their place, as in a table."""
        return tuple(f"run {place}" if seed is None else seed for place, seed in enumerate(self.seeds))

    @cached_property
    def matrix(self) -> ScoreMatrix:
        """All seeds in one matrix, with the seeds as its leading axis, in the order of `seeds`."""
        return ScoreMatrix.stack([run.matrix for run in self.runs]) if self.alike is None else self.alike

    @cached_property
    def alike(self) -> ScoreMatrix | None:
        """The same, where all seeds have the same rows and the same companions; else None."""
        return matrix_of_alike(self.runs) if len(self.runs) > 1 else None


def stack(runs: Sequence[Run]) -> Group:
    """Put the runs of one learner on one stream together; refuse anything else.

    >>> from recollect.runs import Row, Task
    >>> seeds = [Run(learner="er", stream="toy", seed=s, tasks=(Task("a"),), rows=(Row(0, scores={"accuracy": (.9,)}),))
    ...          for s in (1, 0)]
    >>> stack(seeds).seeds, stack(seeds).matrix.lead
    ((0, 1), (2,))
    """
    if not runs:
        raise UsageError("A group needs at least one run; got none.")
    first, wanted = runs[0], _key(runs[0])
    for run in runs[1:]:
        for what, one, other in zip(_KEY_WORDS, wanted, _key(run), strict=True):
            if one != other:
                raise UsageError(
                    f"Runs that are averaged over seeds must agree in the {what}; {first.name} has {one},"
                    f" {run.name} has {other}. Group them with recollect.runs.group, or leave some out."
                )
    known = [(run.name, run.identity.as_seed()) for run in runs if run.identity is not None]
    for (name, identity), (other_name, other_identity) in pairwise(known):
        if found := "; ".join(identity.differences(other_identity)):
            raise UsageError(
                f"Runs that are averaged over seeds are of one learner; {name} and {other_name} are not: {found}."
            )
    return _over_seeds(runs)


def _over_seeds(runs: Sequence[Run]) -> Group:
    _refuse_twins(runs)
    return Group(tuple(sorted(comparable(runs), key=lambda run: (run.seed is None, run.seed or 0))))


def group(runs: Iterable[Run]) -> tuple[Group, ...]:
    """Sort runs into groups over seeds: one learner, one configuration, one code, one stream, one score.

    Groups come in the order of their first runs, seeds in rising order. Streams are told apart by
    `Run.family`, so that the class order may belong to the seed.
    """
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(_key(run), []).append(run)
    return tuple(_over_seeds(members) for alike in groups.values() for members in _by_identity(alike))


def _by_identity(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of one identity each. One without any is taken for a seed of the others if these are of one identity."""
    made: dict[str, list[Run]] = {}
    for run in runs:
        made.setdefault("" if run.identity is None else run.identity.shared, []).append(run)
    return [list(runs)] if len(set(made) - {""}) < 2 else list(made.values())


def attach_joint(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Give each run the joint learner's run on the same stream with the same seed, where there is one.

    The joint learner is the one whose role is "joint", or the one that a run names (`Run.joint_learner`); of two
    joint learners none is taken. Runs that have their joint scores, and the joint learner's own runs, come back as
    they are.

    >>> from recollect.runs import Row, Task
    >>> def toy(learner, score, role="contestant"):
    ...     rows = (Row(0, scores={"accuracy": (score,)}),)
    ...     return Run(learner=learner, stream="toy", tasks=(Task("a"),), rows=rows, role=role)
    >>> er, joint = attach_joint([toy("er", .7), toy("all data", .9, role="joint")])
    >>> er.matrix.joint, joint.matrix.joint
    (array([[0.9]]), None)
    """
    given = tuple(runs)
    found: dict[tuple[str, str, int | None], list[Run]] = {}
    for run in given:
        found.setdefault((run.fingerprint, run.metric, run.seed), []).append(run)

    def with_joint(run: Run) -> Run:
        if run.role == "joint" or run.joint_run is not None:
            return run
        if run.packed is None and any(row.joint for row in run.rows):
            return run
        beside = [other for other in found[run.fingerprint, run.metric, run.seed] if other is not run]
        named = run.joint_learner
        joint = [one for one in beside if (one.role == "joint" if named is None else one.learner == named)]
        return joined(run, joint[0]) if len(joint) == 1 else run

    return tuple(with_joint(run) for run in given)


def joined(run: Run, joint: Run) -> Run:
    """The run with its joint learner's; of one from an index the rows are not read for it."""
    if run.packed is None:
        return replace(run, joint_run=joint)
    made = copy(run)
    vars(made)["joint_run"] = joint
    return made


def at_common_rows(groups: Sequence[Group]) -> tuple[tuple[Group, ...], tuple[int, ...]]:
    """The groups over the task ends that all of them evaluated, and those task ends."""
    ends = [set.intersection(*(set(run.ended) for run in one.runs)) for one in groups]
    common = set.intersection(*ends) if ends else set()
    if all(end == common for end in ends):
        return tuple(groups), tuple(sorted(common))
    return tuple(Group(tuple(at_rows(run, common) for run in one.runs)) for one in groups), tuple(sorted(common))


def comparable(runs: Sequence[Run]) -> tuple[Run, ...]:
    """Runs whose rows can be put side by side: as they are, or at their task ends where those differ.

    Rows that are batches fall where they fall: with the concepts in another order, or of other sizes, the same
    concept is learned after another batch.
    """
    if all(run.learned_at == runs[0].learned_at for run in runs):
        return tuple(runs)
    return tuple(at_task_ends(run) for run in runs)


_KEY_WORDS = (
    "learner",
    "configuration",
    "stream",
    "stream (classes, sizes, test set)",
    "metric",
    "direction",
)


def _key(run: Run) -> tuple[str, ...]:
    config = json.dumps(run.learner_config, sort_keys=True, default=repr)
    direction = "higher is better" if run.higher_is_better else "lower is better"
    return (run.learner, config, run.stream, run.family, run.metric, direction)


def _refuse_twins(runs: Sequence[Run]) -> None:
    seen: dict[int, Run] = {}
    for run in runs:
        if run.seed is None:
            continue
        twin = seen.setdefault(run.seed, run)
        if twin is not run:
            places = " and ".join(str(r.path) for r in (twin, run) if r.path is not None)
            raise UsageError(
                f"Two runs are {run.name}{f' ({places})' if places else ''}: a seed counts once."
                " Leave one of them out, or give the learners different names."
            )

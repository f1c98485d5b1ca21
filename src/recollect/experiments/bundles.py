"""Which runs go to a worker together: the seeds of a small network are trained as one batched network.

What a seed learns does not depend on its company, to the bit (`learners.batched`), so bundles may be cut by the
number of workers, and a run that was killed may go on in another bundle or alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from recollect.experiments.grid import Job

Bundle = tuple[Job, ...]

# Ten have been measured (benchmarks/training.py); more would gain little and wait for each other longer.
MOST = 10


def bundles(jobs: Sequence[Job], workers: int) -> list[Bundle]:
    """The jobs in order, seeds that gain from it in one bundle; cut until there is one for every worker."""
    kinds: dict[str, list[Job]] = {}
    for job in jobs:
        kinds.setdefault(_kind(job), []).append(job)
    made: list[Bundle] = []
    for alike in kinds.values():
        size = MOST if len(alike) > 1 and alike[0].joins else 1
        made += [tuple(alike[low : low + size]) for low in range(0, len(alike), size)]
    while len(made) < workers and any(len(bundle) > 1 for bundle in made):
        largest = max(made, key=len)
        half = (len(largest) + 1) // 2
        place = made.index(largest)
        made[place : place + 1] = [largest[:half], largest[half:]]
    order = {job.name: number for number, job in enumerate(jobs)}
    return sorted(made, key=lambda bundle: order[bundle[0].name])


def _kind(job: Job) -> str:
    """Equal for jobs that differ in the seed alone."""
    config = {key: value for key, value in job.config.items() if key != "seed"}
    return repr((job.learner_label, job.stream_label, job.device, job.data, config))

"""Whether a run's folder holds what the experiment asks for, and how a run is started over."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import UsageError
from recollect.experiments.grid import Job, Streams
from recollect.paths import import_path
from recollect.protocol import describe
from recollect.protocol.identifying import identity, later_defaults, option_values
from recollect.runs.files import make_folder, sync_folder, writing
from recollect.runs.identity import Identity, another, differences, plain, refuse_another
from recollect.runs.lock import Lock
from recollect.runs.reading import HEADER, ROWS, read_regular, read_run
from recollect.runs.remote import Storage

if TYPE_CHECKING:
    from recollect.streams.stream import Stream

# What earlier versions kept beside a record that has no identity.
_CONFIG = "config.json"
BEFORE = ".before"


def stream_of(job: Job, streams: Streams | None = None) -> Stream:
    """The stream of a job, under the name that the record has."""
    stream = (streams or Streams(job.data)).of(job.stream, job.stream_options, job.seed)
    said = [note for note in (job.note, (job.tuning or {}).get("said")) if note is not None]
    if said:
        stream = replace(stream, notes=(*stream.notes, *said))
    if job.stream_label == job.stream:
        return stream
    return replace(stream, name=job.stream_label)  # so that tables tell the streams of a file apart


def identity_of(job: Job, stream: Stream) -> Identity:
    """The identity of a job's run, known without making its learner."""
    from recollect.learners import LEARNERS, options

    card = LEARNERS.get(job.learner)
    if card is not None:
        chosen = options.read(card.options, job.learner, job.learner_options)
        made = identity(card.maker, option_values(chosen), [], stream, job.target)
        return replace(made, later=later_defaults(chosen))
    maker = import_path(job.learner, "learner")
    return identity(job.learner, {**own_defaults(maker), **job.learner_options}, [maker], stream, job.target)


def own_defaults(maker: Callable[..., Any]) -> dict[str, Any]:
    """The options of a learner that is not ours which have a default."""
    try:
        takes = inspect.signature(maker).parameters.values()
    except (ValueError, TypeError):
        return {}
    return {one.name: one.default for one in takes if one.default is not one.empty}


def record_config(job: Job) -> dict[str, Any]:
    """The learner's options as the record keeps them: defaults too, and the learner's name if labelled."""
    from recollect.learners import LEARNERS

    card = LEARNERS.get(job.learner)
    defaults = card.defaults if card else own_defaults(import_path(job.learner, "learner"))
    config = plain({**defaults, **job.learner_options})
    return config if job.learner == job.learner_label else {"learner": job.learner, **config}


def described(job: Job) -> dict[str, Any]:
    """What the protocol is told of a job."""
    return {
        "name": job.learner_label,
        "seed": job.seed,
        "config": record_config(job),
        "plan": job.plan,
        "experiment": job.experiment,
        "planned_seeds": job.seeds,
        "target": job.target,
        "role": job.role,
        "tuning": job.tuning,
    }


def refuse_changed(job: Job, streams: Streams | None = None) -> None:
    """Raise UsageError, with what differs, if the run's folder holds another run than the job's."""
    if not os.path.lexists(job.folder / HEADER):
        return
    there = read_run(job.folder)
    stream = stream_of(job, streams)
    refuse_another(there, describe(stream, **described(job), identity=identity_of(job, stream)), job.folder)
    if there.identity is None and there.rows:
        _refuse_other_config(job)


def _refuse_other_config(job: Job) -> None:
    """The comparison for a record of an earlier version: by what its experiment file said."""
    place = job.folder / _CONFIG
    try:
        there = json.loads(read_regular(place))
    except FileNotFoundError:
        return
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{place} cannot be read ({error}). Restore it, or remove the run's folder.") from None
    found = list(differences(there, job.config))
    if found:
        raise another(job.folder, found)


def is_finished(job: Job) -> bool:
    """Whether the run is complete: its header says so, and its rows are there."""
    return _status(job.folder) == "finished" and (job.folder / ROWS).is_file()


def _status(folder: Path) -> Any:
    try:
        header = json.loads(read_regular(folder / HEADER))
    except (OSError, ValueError, RecursionError):
        return None
    return header.get("status") if isinstance(header, dict) else None


def move_away(job: Job) -> Path | None:
    """Put what a run's folder holds aside, where no command looks for runs; None if there is nothing.

    Only a folder with a record in it is moved, and only if nobody is writing to it.
    """
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    if job.remote is not None:
        beside, _, name = job.remote.rpartition("/")
        Storage(job.remote).move(Storage(f"{beside}/{BEFORE}/{name}-{stamp}-{os.urandom(2).hex()}"))
    if not os.path.lexists(job.folder):
        return None
    if job.folder.is_symlink() or not job.folder.is_dir():
        raise UsageError(f"{job.folder} is no folder of a run; it is left as it is. Move it away, and try again.")
    if not any(os.path.lexists(job.folder / name) for name in (HEADER, ROWS)) and any(job.folder.iterdir()):
        raise UsageError(f"{job.folder} holds no run, but other files; it is left as it is. Give another folder (-o).")
    lock = Lock(job.folder)
    try:
        aside = job.folder.parent / BEFORE
        make_folder(aside)
        with writing(aside):
            target = next(place for n in range(10_000) if not (place := aside / f"{job.name}-{stamp}-{n}").exists())
            os.rename(job.folder, target)
            sync_folder(job.folder.parent)
            (target / ".lock").unlink(missing_ok=True)
    finally:
        lock.release()
    return target

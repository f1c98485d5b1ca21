"""Samples on disk, decoded in processes of their own while the learner learns.

The processes give what `take` gives, batch by batch and in the order in which batches come: results are the same to the
bit. They are plain children with a pipe, for a worker of an experiment may have no children of multiprocessing's; they
end when the pipe does, whichever way this process goes.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
import weakref
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from recollect.errors import NotComputable, RecollectError, UsageError
from recollect.streams.samples import ArraySamples, Index, Samples

# Batches that are asked for before they are needed, for each process.
AHEAD = 4


class Decoders:
    """Processes that read samples; `parts` are those that may be asked for, such as training and test samples."""

    def __init__(self, parts: Sequence[Samples], workers: int, name: str) -> None:
        try:
            hello = pickle.dumps(tuple(parts))
        except Exception as error:
            raise UsageError(
                f"prefetch sends the data set of {name} to other processes, and it cannot be sent"
                f" ({type(error).__name__}: {error}). Define its class and transforms at the top of a module, without"
                " lambdas, or leave prefetch out."
            ) from None
        self._workers = workers
        self._idle: SimpleQueue[subprocess.Popen[bytes]] = SimpleQueue()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="prefetch")
        children = [_child(hello) for _ in range(workers)]
        for child in children:
            self._idle.put(child)
        self._end = weakref.finalize(self, _end, self._threads, children)

    def take(self, part: int, places: Iterable[Index]) -> Iterator[NDArray[Any]]:
        """The samples at each of these places, one array for each, in their order."""
        asked: deque[Future[NDArray[Any]]] = deque()
        try:
            for index in places:
                asked.append(self._threads.submit(self._ask, part, index))
                if len(asked) > AHEAD * self._workers:
                    yield asked.popleft().result()
            while asked:
                yield asked.popleft().result()
        finally:
            for future in asked:
                future.cancel()

    def _ask(self, part: int, index: Index) -> NDArray[Any]:
        child = self._idle.get()
        try:
            return _answer(child, part, index)
        finally:
            self._idle.put(child)


def _child(hello: bytes) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        [sys.executable, "-c", "from recollect.streams.prefetch import serve; serve()"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it died at once; the first answer says so
        child.stdin.write(pickle.dumps(sys.path))
        child.stdin.write(hello)
        child.stdin.flush()
    return child


def _answer(child: subprocess.Popen[bytes], part: int, index: Index) -> NDArray[Any]:
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        pickle.dump((part, index), child.stdin)
        child.stdin.flush()
        told = pickle.load(child.stdout)
        if isinstance(told, RecollectError):
            raise told
        shape, dtype = told
        made = np.empty(shape, dtype)
        _fill(child.stdout, made.reshape(-1).view(np.uint8).data)
    except (BrokenPipeError, EOFError, pickle.UnpicklingError):
        child.kill()
        raise NotComputable(
            f"A process that reads samples (prefetch) died with exit code {child.wait()}; is there enough memory?"
        ) from None
    return made


def _fill(pipe: IO[bytes], into: memoryview) -> None:
    while into:
        count = pipe.readinto(into)  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        into = into[count:]


def _end(threads: ThreadPoolExecutor, children: Sequence[subprocess.Popen[bytes]]) -> None:
    for child in children:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
    threads.shutdown(wait=False, cancel_futures=True)


def serve() -> None:
    """The life of such a process: samples first, then places in and arrays out, until the pipe ends."""
    asks, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # what a transform prints is no answer
    with contextlib.suppress(EOFError, BrokenPipeError, pickle.UnpicklingError):  # the other end is gone
        sys.path[:] = pickle.load(asks)
        _serve(pickle.load(asks), asks, answers)
    os._exit(0)


def _serve(parts: Sequence[Samples], asks: IO[bytes], answers: IO[bytes]) -> None:
    while True:
        part, index = pickle.load(asks)
        try:
            made = np.ascontiguousarray(parts[part].take(index))
        except RecollectError as error:
            pickle.dump(error, answers)
        except Exception as error:
            pickle.dump(NotComputable(f"A sample could not be read: {type(error).__name__}: {error}"), answers)
        else:
            pickle.dump((made.shape, made.dtype), answers)
            answers.write(made.reshape(-1).view(np.uint8).data)
        answers.flush()


def refuse_useless(samples: Samples, name: str) -> None:
    """Raise UsageError where there is nothing to decode."""
    if isinstance(samples, ArraySamples):
        raise UsageError(
            f"prefetch is for samples that are read from disk one by one; those of {name} are an array. Leave it out."
        )

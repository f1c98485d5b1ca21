"""Seeds for each thing a learner draws, and torch's global generators lent to a user's network."""

from __future__ import annotations

from types import TracebackType

import numpy as np
import torch

from recollect.learners.base import State
from recollect.learners.devices import to_array


def sub_seed(seed: int, *purpose: str | int) -> int:
    """A seed of its own for each purpose, so that one thing drawn more often does not shift another.

    >>> sub_seed(0, "memory") == sub_seed(0, "memory"), sub_seed(0, "memory") == sub_seed(0, "augment")
    (True, False)
    """
    words = [seed]
    for part in purpose:
        words += [part] if isinstance(part, int) else list(part.encode())
    return int(np.random.SeedSequence(words).generate_state(1, np.uint32)[0])


class OwnRandomness:
    """While entered, torch's global generators are the learner's own; outside they are as they were.

    For networks of the user, which may hold dropout: what it draws then depends on the learner's seed and
    place alone, and is part of its state.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self._cuda = device if device.type == "cuda" else None
        outside = self._read()
        torch.manual_seed(seed)
        self._own = self._read()
        self._write(outside)

    def __enter__(self) -> None:
        self._outside = self._read()
        self._write(self._own)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._own = self._read()
        self._write(self._outside)

    def state(self) -> State:
        """Where the generators are."""
        return {str(index): to_array(tensor) for index, tensor in enumerate(self._own)}

    def restore(self, state: State) -> None:
        """Put them back."""
        self._own = [torch.from_numpy(np.array(state[str(index)])) for index in range(len(state))]

    def _read(self) -> list[torch.Tensor]:
        cpu = [torch.get_rng_state()]
        return cpu if self._cuda is None else [*cpu, torch.cuda.get_rng_state(self._cuda)]

    def _write(self, states: list[torch.Tensor]) -> None:
        torch.set_rng_state(states[0])
        if self._cuda is not None and len(states) > 1:
            torch.cuda.set_rng_state(states[1], self._cuda)

"""Which device, and arrays to tensors and back."""

from __future__ import annotations

import os
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from recollect.errors import UsageError
from recollect.learners.base import Array, State


def choose(device: str, *, deterministic: bool = True) -> torch.device:
    """The device of this name; "auto" is cuda, else mps, else cpu.

    Away from the CPU torch's deterministic algorithms are switched on, for this process, unless that is not
    wanted: a run that is resumed must end like one that was not. On the CPU the operations used here are deterministic
    as they are.

    >>> choose("cpu")
    device(type='cpu')
    """
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UsageError(
            f"The device {device!r} cannot be used here: {reason}. Choose auto, cpu, cuda, cuda:N or mps."
        ) from None
    if is_apart(chosen):
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.backends.cudnn.benchmark = not deterministic
        torch.use_deterministic_algorithms(deterministic, warn_only=True)
    return chosen


def is_apart(device: torch.device) -> bool:
    """Whether what is on the device has to be sent there and fetched."""
    return device.type != "cpu"


def to_tensor(array: Array | Tensor, device: torch.device) -> Tensor:
    """The array on the device, sharing memory where it can; to a GPU it goes while the processor goes on."""
    if isinstance(array, Tensor):
        return array.to(device)
    if not array.flags.writeable:
        array = array.copy()
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def to_array(tensor: Tensor) -> Array:
    """A copy as a contiguous numpy array."""
    copy: Array = np.array(tensor.detach().cpu().numpy(), order="C")
    return copy


def weights(network: nn.Module) -> State:
    """Every parameter and buffer of a network, copied."""
    return {name: to_array(tensor) for name, tensor in network.state_dict().items()}


def set_weights(network: nn.Module, saved: Mapping[str, Array]) -> None:
    """Put `weights` back, into the tensors the network has (so their memory layout stays)."""
    network.load_state_dict({name: torch.from_numpy(np.array(array)) for name, array in saved.items()})

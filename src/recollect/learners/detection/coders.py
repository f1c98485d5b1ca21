"""Encoders and decoders of autoencoders: dense ones for rows, recurrent and convolutional ones for windows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from recollect.errors import UsageError

RECURRENT = {"gru": nn.GRU, "lstm": nn.LSTM}
_KERNEL = 3


def dense(n_features: int, widths: Sequence[int], codes: int) -> tuple[nn.Module, nn.Module]:
    """Linear layers with rectifiers between them, and their mirror image; the last width is that of the code."""
    *hidden, code = widths
    return _layers([n_features, *hidden, codes * code]), _layers([code, *reversed(hidden), n_features])


def sequential(
    kind: str, n_features: int, window: int, widths: Sequence[int], codes: int
) -> tuple[nn.Module, nn.Module]:
    """An encoder of windows of `window` rows to a code, and a decoder back; `kind` is gru, lstm or tcn."""
    if n_features % window:
        raise UsageError(
            f"A window of {window} rows has a multiple of {window} values; the samples of this stream have"
            f" {n_features}. Give the detector's window the number that the stream's window has."
        )
    if len(widths) != 2:
        raise UsageError(f"The widths of a sequence autoencoder are two, [hidden, code]; got {list(widths)}.")
    hidden, code = widths
    rows = n_features // window
    if kind == "tcn":
        return ConvolutionEncoder(window, rows, hidden, codes * code), ConvolutionDecoder(window, rows, hidden, code)
    return RecurrentEncoder(kind, window, rows, hidden, codes * code), RecurrentDecoder(
        kind, window, rows, hidden, code
    )


class _Windowed(nn.Module):
    """Samples are flat, the newest row first; a sequence begins with the oldest."""

    def __init__(self, window: int, features: int) -> None:
        super().__init__()
        self.window, self.features = window, features

    def sequence(self, x: Tensor) -> Tensor:
        """Flat samples as (samples, window, features), the oldest row first."""
        return x.reshape(len(x), self.window, self.features).flip(1)

    def flat(self, sequence: Tensor) -> Tensor:
        """A sequence as flat samples."""
        return sequence.flip(1).reshape(len(sequence), -1)


class RecurrentEncoder(_Windowed):
    """What a GRU or LSTM holds after the newest row, and a linear layer to the code."""

    def __init__(self, kind: str, window: int, features: int, hidden: int, code: int) -> None:
        super().__init__(window, features)
        self.cells = RECURRENT[kind](features, hidden, batch_first=True)
        self.head = nn.Linear(hidden, code)

    def forward(self, x: Tensor) -> Tensor:
        """The codes."""
        outputs, _ = self.cells(self.sequence(x))
        codes: Tensor = self.head(outputs[:, -1])
        return codes


class RecurrentDecoder(_Windowed):
    """The code at every step, through a GRU or LSTM, and a linear layer to the rows."""

    def __init__(self, kind: str, window: int, features: int, hidden: int, code: int) -> None:
        super().__init__(window, features)
        self.start = nn.Linear(code, hidden)
        self.cells = RECURRENT[kind](hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, features)

    def forward(self, codes: Tensor) -> Tensor:
        """The reconstructed samples."""
        repeated = self.start(codes)[:, None].expand(-1, self.window, -1)
        outputs, _ = self.cells(repeated)
        return self.flat(self.head(outputs))


class ConvolutionEncoder(_Windowed):
    """Two convolutions over time that look back only, the second twice as far; the newest step to the code."""

    def __init__(self, window: int, features: int, hidden: int, code: int) -> None:
        super().__init__(window, features)
        self.first = nn.Conv1d(features, hidden, _KERNEL)
        self.second = nn.Conv1d(hidden, hidden, _KERNEL, dilation=2)
        self.head = nn.Linear(hidden, code)

    def forward(self, x: Tensor) -> Tensor:
        """The codes."""
        steps = _looking_back(self.first, self.sequence(x).transpose(1, 2)).relu()
        steps = _looking_back(self.second, steps).relu()
        codes: Tensor = self.head(steps[:, :, -1])
        return codes


class ConvolutionDecoder(_Windowed):
    """The code spread over the steps, and two convolutions over time."""

    def __init__(self, window: int, features: int, hidden: int, code: int) -> None:
        super().__init__(window, features)
        self.start = nn.Linear(code, hidden * window)
        self.first = nn.Conv1d(hidden, hidden, _KERNEL, dilation=2)
        self.second = nn.Conv1d(hidden, features, _KERNEL)

    def forward(self, codes: Tensor) -> Tensor:
        """The reconstructed samples."""
        steps = self.start(codes).reshape(len(codes), -1, self.window).relu()
        steps = _looking_back(self.first, steps).relu()
        return self.flat(_looking_back(self.second, steps).transpose(1, 2))


def _looking_back(layer: nn.Conv1d, steps: Tensor) -> Tensor:
    """A convolution in which no step sees a later one.

    >>> import torch
    >>> layer = nn.Conv1d(1, 1, 3)
    >>> ones, changed = torch.ones(1, 1, 5), torch.tensor([[[1.0, 1, 1, 1, 9]]])
    >>> bool((_looking_back(layer, ones)[..., :4] == _looking_back(layer, changed)[..., :4]).all())
    True
    """
    reach = (_KERNEL - 1) * layer.dilation[0]
    made: Tensor = layer(nn.functional.pad(steps, (reach, 0)))
    return made


def _layers(widths: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for low, high in pairwise(widths):
        layers += [nn.Linear(low, high), nn.ReLU()]
    return nn.Sequential(*layers[:-1])

"""Networks that come with weights: from a file, from timm or from transformers; frozen, with a head of their own."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from recollect.errors import UsageError
from recollect.learners.base import Setting
from recollect.learners.options import Network

LIBRARIES = ("timm", "transformers")
# What layers that answer are called; a file may have them for other classes.
_HEADS = ("head", "fc", "classifier")


class Backbone(nn.Module):
    """A network of a library as features, and a head over the classes of the stream."""

    def __init__(self, body: nn.Module, width: int, n_outputs: int, resize: int | None) -> None:
        super().__init__()
        self.body, self.head, self._resize = body, nn.Linear(width, n_outputs), resize

    def features(self, x: Tensor) -> Tensor:
        """What the last layer sees; images are resized if that was asked for, and grey ones have three channels."""
        if x.ndim == 4 and x.shape[1] == 1:
            x = x.expand(-1, 3, -1, -1)
        if self._resize is not None and x.ndim == 4:
            x = F.interpolate(x, (self._resize, self._resize), mode="bilinear", antialias=True)
        found = self.body(x)
        pooled = getattr(found, "pooler_output", None)
        if pooled is None and hasattr(found, "last_hidden_state"):
            pooled = found.last_hidden_state[:, 0]
        made: Tensor = found if pooled is None else pooled
        return made.flatten(1)

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        logits: Tensor = self.head(self.features(x))
        return logits


class CosineHead(nn.Module):
    """Logits by the angle between features and class weights, times a scale that is learned (Hou et al. 2019).

    >>> head = CosineHead(nn.Linear(4, 3))
    >>> bool(torch.allclose(head(torch.ones(1, 4)), head(9 * torch.ones(1, 4))))
    True
    """

    def __init__(self, like: nn.Linear, scale: float = 10.0) -> None:
        super().__init__()
        self.in_features, self.out_features = like.in_features, like.out_features
        self.weight = nn.Parameter(like.weight.detach().clone())
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, x: Tensor) -> Tensor:
        """The logits."""
        return self.scale * F.linear(F.normalize(x, dim=1), F.normalize(self.weight, dim=1))


class _Frozen:
    """A network whose body is not trained: its batch norms and dropouts stay as in evaluation."""

    def train(self, mode: bool = True) -> Any:
        super().train(mode)  # type: ignore[misc]
        for name, part in self.named_children():  # type: ignore[attr-defined]
            if name != "head":
                part.train(False)
        return self


def from_library(path: str, setting: Setting, options: Network) -> nn.Module:
    """The network "timm:NAME" or "transformers:NAME" (a name or a folder), with a new head."""
    library, _, name = path.partition(":")
    try:
        module = import_module(library)
    except ModuleNotFoundError:
        raise UsageError(f"The network {path!r} needs {library}: pip install {library}.") from None
    try:
        if library == "timm":
            body = module.create_model(name, pretrained=options.weights == "pretrained", num_classes=0)
            return Backbone(body, int(body.num_features), setting.n_outputs, options.resize)
        maker = module.AutoModel
        if options.weights == "pretrained" or Path(name).is_dir():
            body = maker.from_pretrained(name)
        else:
            body = maker.from_config(module.AutoConfig.from_pretrained(name))
        return Backbone(body, int(body.config.hidden_size), setting.n_outputs, options.resize)
    except Exception as error:  # whatever a library says of a name, a download or a file
        said = " ".join(str(error).split())[:300]
        raise UsageError(f"The network {path!r} cannot be made by {library}: {type(error).__name__}: {said}") from error


def furnished(network: nn.Module, options: Network) -> nn.Module:
    """The network with the weights of the file, the kind of head and the frozen body that the options ask for."""
    if options.weights not in (None, "pretrained"):
        load_weights(network, options.weights)
    if options.head == "cosine":
        network.head = CosineHead(_linear_head(network, "head: cosine"))
    if options.freeze:
        _linear_head(network, "freeze")
        for name, weight in network.named_parameters():
            weight.requires_grad_(name.startswith("head."))
        network.__class__ = type(type(network).__name__, (_Frozen, type(network)), {})
    return network


def _linear_head(network: nn.Module, what: str) -> Any:
    head = getattr(network, "head", None)
    if not isinstance(head, nn.Linear | CosineHead):
        raise UsageError(
            f"The option {what} is for networks whose last layer is an nn.Linear called `head`;"
            f" {type(network).__name__} has none. Call its last layer so."
        )
    return head


def load_weights(network: nn.Module, file: str) -> None:
    """Put the weights of a file into a network; a head for other classes is left out, anything else must fit."""
    found = _read_weights(file)
    wanted = network.state_dict()
    inner = {f"body.{name}": value for name, value in found.items()} if isinstance(network, Backbone) else {}
    known = {**{name: value for name, value in inner.items() if name in wanted}, **found}
    fitting = {name: value for name, value in known.items() if name in wanted and value.shape == wanted[name].shape}
    lacking = [name for name in wanted if name not in fitting and not _is_head(name)]
    if lacking:
        first = lacking[0]
        shape = f"has it as {tuple(known[first].shape)}" if first in known else "does not have it"
        raise UsageError(
            f"The weights in {file} do not fit the network: {len(lacking)} of its {len(wanted)} tensors are missing,"
            f" such as {first} of shape {tuple(wanted[first].shape)}; the file {shape}. It has"
            f" {', '.join(list(found)[:4])}, ..."
        )
    network.load_state_dict(fitting, strict=False)


def _is_head(name: str) -> bool:
    return name.removeprefix("body.").split(".")[0] in _HEADS


def _read_weights(file: str) -> dict[str, Tensor]:
    """The tensors of a file by name: of torch (never with code in it) or of safetensors."""
    try:
        if file.endswith(".safetensors"):
            content: Any = import_module("safetensors.torch").load_file(file)
        else:
            content = torch.load(file, map_location="cpu", weights_only=True)
    except ModuleNotFoundError:
        raise UsageError(f"{file} needs safetensors: pip install safetensors.") from None
    except FileNotFoundError:
        raise UsageError(f"There is no file {file}, which the option weights names.") from None
    except Exception as error:  # a file may be anything
        said = " ".join(str(error).split())[:200]
        raise UsageError(
            f"The weights in {file} cannot be read: {said}. Expected is what torch.save(network.state_dict()) writes."
        ) from None
    for inside in ("state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(inside), Mapping):
            content = content[inside]
    if not isinstance(content, Mapping) or not content or not all(isinstance(v, Tensor) for v in content.values()):
        raise UsageError(f"{file} holds no weights by name; expected is what torch.save(network.state_dict()) writes.")
    return {str(name).removeprefix("module."): value for name, value in content.items()}

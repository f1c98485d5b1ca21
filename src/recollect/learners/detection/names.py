"""Which detectors there are, and what an option `detector:` means; nothing of them is imported here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from recollect.errors import UsageError
from recollect.nearest import nearest

LAYERS = ("gru", "lstm", "tcn")
NETWORKS = ("autoencoder", "vae", *(f"{layers}_{kind}" for kind in ("autoencoder", "vae") for layers in LAYERS))
SKLEARN: Mapping[str, str] = {
    "IsolationForest": "sklearn.ensemble",
    "LocalOutlierFactor": "sklearn.neighbors",
    "OneClassSVM": "sklearn.svm",
    "EllipticEnvelope": "sklearn.covariance",
    "SGDOneClassSVM": "sklearn.linear_model",
}
# Those that learn without labels; `river:OneClassSVM` and `river:LocalOutlierFactor` have namesakes in scikit-learn.
RIVER: Mapping[str, str] = dict.fromkeys(
    ("HalfSpaceTrees", "LODA", "LocalOutlierFactor", "OneClassSVM", "QuantileFilter", "ThresholdFilter"),
    "river.anomaly",
)
_WAYS = (("fit", "decision_function"), ("learn_one", "score_one"), ("partial_fit", "decision_function"))
WHAT_IT_HAS = "A detector has " + " or ".join(f"{one}(x) and {other}(x)" for one, other in _WAYS)
# Time series, graphs, sounds and texts are no tables; XGBOD and DevNet want labels.
_NO_TABLES = re.compile(r"(ts|pyg)_|base|audio_ae|embedding|xgbod|devnet|so_gaal_new")
_PYOD_CLASS = re.compile(r"^class (\w+)\(Base(?:DeepLearning)?Detector\)", re.MULTILINE)


@dataclass(frozen=True)
class Spec:
    """A detector that was asked for, not made yet.

    `family` is pyod, sklearn, river, network, path ("package.module:Class") or object (given as it is).
    """

    family: str
    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    thing: Any = None


def parse(value: Any) -> Spec:
    """The detector that an option asks for: a name, {name: parameters}, an object or a class.

    >>> parse({"IsolationForest": {"n_estimators": 50}})
    Spec(family='sklearn', name='IsolationForest', parameters={'n_estimators': 50}, thing=None)
    >>> parse("pyod:LOF").family, parse("vae").family, parse("my_package.models:Mine").family
    ('pyod', 'network', 'path')
    >>> parse("IsolationForrest")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: There is no detector named 'IsolationForrest'; the nearest is 'IsolationForest'. ...
    """
    if isinstance(value, str):
        return _named(value, {})
    if isinstance(value, Mapping):
        return _with_parameters(value)
    if is_detector(value):
        return Spec("object", value.__name__ if isinstance(value, type) else type(value).__name__, {}, value)
    raise UsageError(
        "A detector is a name (IForest), a name with parameters ({IForest: {n_estimators: 50}}), or an object or class."
        f" {WHAT_IT_HAS}; got {value!r}."
    )


def is_detector(value: Any) -> bool:
    """Whether an object or class has one of the pairs of methods of a detector."""
    return any(all(callable(getattr(value, name, None)) for name in way) for way in _WAYS)


def is_streaming(value: Any) -> bool:
    """Whether it learns one sample at a time and can do nothing else."""
    return not callable(getattr(value, "decision_function", None)) and callable(getattr(value, "learn_one", None))


def label(value: Any) -> str:
    """The name of a detector for tables: without library, package or parameters.

    >>> label({"pyod:LOF": {"n_neighbors": 5}}), label("my_package.models:Mine"), label("autoencoder")
    ('LOF', 'Mine', 'autoencoder')
    """
    return parse(value).name.rpartition(":")[2]


@cache
def pyod_names() -> Mapping[str, str]:
    """The module of every PyOD detector of tables, read from its files; empty where there is no PyOD.

    Importing them all would cost many seconds (numba, torch), and fail where one lacks a package.
    """
    found = find_spec("pyod")
    names: dict[str, str] = {}
    for folder in (found.submodule_search_locations or []) if found else []:
        for file in sorted(Path(folder, "models").glob("*.py")):
            if not _NO_TABLES.match(file.stem):
                text = file.read_text(encoding="utf-8", errors="replace")
                names |= dict.fromkeys(_PYOD_CLASS.findall(text), f"pyod.models.{file.stem}")
    return names


def _with_parameters(value: Mapping[str, Any]) -> Spec:
    if len(value) != 1:
        raise UsageError(
            f"One detector with its parameters is written {{IForest: {{n_estimators: 50}}}}; got {len(value)} names:"
            f" {', '.join(map(str, value)) or 'none'}."
        )
    (name, parameters), *_ = value.items()
    if not isinstance(parameters, Mapping | None) or not isinstance(name, str):
        raise UsageError(f"The parameters of the detector {name} are written {{name: value, ...}}; got {parameters!r}.")
    return _named(name, dict(parameters or {}))


def _named(name: str, parameters: Mapping[str, Any]) -> Spec:
    library, colon, short = name.rpartition(":")
    if colon and library not in ("pyod", "sklearn", "river"):
        return Spec("path", name, parameters)
    known: dict[str, Mapping[str, Any]] = {
        "pyod": pyod_names(),
        "sklearn": SKLEARN,
        "network": dict.fromkeys(NETWORKS),
        "river": RIVER,
    }
    for family, names in known.items():
        if short in names and library in ("", family):
            return Spec(family, short, parameters)
    if not pyod_names() and library not in ("sklearn", "river"):
        # Which names PyOD has cannot be told without it; making the detector asks for the installation.
        if nearest(short, [*SKLEARN, *NETWORKS], cutoff=0.85):
            raise _unknown(name, short, [*SKLEARN, *NETWORKS])
        return Spec("pyod", short, parameters)
    raise _unknown(name, short, known[library] if library else [one for names in known.values() for one in names])


def _unknown(name: str, short: str, known: Iterable[str]) -> UsageError:
    return UsageError(
        f"There is no detector named {name!r}; the nearest is {nearest(short, known)!r}. There are the models of PyOD"
        f" for tables by their class names, of scikit-learn {', '.join(SKLEARN)}, of river {', '.join(RIVER)}, and here"
        f" {' and '.join(NETWORKS)};"
        " one of your own is named 'package.module:Class'."
    )

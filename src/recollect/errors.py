"""What can go wrong, said to the user in one paragraph.

Every message states what was expected, what came, and what to do. The command prints it on stderr and
leaves with `exit_code`; a library user catches `RecollectError`.
"""

from __future__ import annotations


class RecollectError(Exception):
    """The root of every error that Recollect raises on purpose."""

    exit_code = 1


class UsageError(RecollectError):
    """Wrong use: an unknown id, a bad option, a wrong shape, a file that cannot be read."""

    exit_code = 2


class NotComputable(RecollectError):
    """The question is fine, but what is there does not answer it."""


class MissingCells(NotComputable):
    """A cell that a metric reads was not evaluated."""


class RecollectWarning(UserWarning):
    """Something beside the answer that a user should know; the command prints it as a note."""


# Which extra brings a module that is imported where it is used.
_EXTRAS = {
    "PIL": "data",
    "codecarbon": "codecarbon",
    "jinja2": "report",
    "latex2mathml": "report",
    "markupsafe": "report",
    "mlflow": "mlflow",
    "matplotlib": "report",
    "optuna": "tune",
    "pandas": "pandas",
    "pooch": "data",
    "pydantic": "run",
    "ray": "ray",
    "rdkit": "molecules",
    "river": "streaming",
    "sklearn": "sklearn",
    "submitit": "slurm",
    "tensorboard": "tensorboard",
    "torch": "torch",
    "torch_geometric": "graphs",
    "wandb": "wandb",
    "xarray": "xarray",
    "yaml": "run",
}


class MissingExtra(RecollectError):
    """An optional dependency is not installed.

    >>> print(MissingExtra.of("pandas", "pandas"))
    pandas is not installed; it comes with: pip install 'recollect[pandas]'
    """

    @classmethod
    def of(cls, package: str, extra: str) -> MissingExtra:
        return cls(f"{package} is not installed; it comes with: pip install 'recollect[{extra}]'")

    @classmethod
    def behind(cls, error: ModuleNotFoundError) -> MissingExtra | None:
        """The extra whose module could not be imported; None if the module is of no extra.

        >>> print(MissingExtra.behind(ModuleNotFoundError("...", name="yaml")))
        yaml is not installed; it comes with: pip install 'recollect[run]'
        """
        module = (error.name or "").partition(".")[0]
        return cls.of(module, _EXTRAS[module]) if module in _EXTRAS else None

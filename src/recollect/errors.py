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


class MissingExtra(RecollectError):
    """An optional dependency is not installed.

    >>> print(MissingExtra.of("pandas", "pandas"))
    pandas is not installed; it comes with: pip install 'recollect[pandas]'
    """

    @classmethod
    def of(cls, package: str, extra: str) -> MissingExtra:
        return cls(f"{package} is not installed; it comes with: pip install 'recollect[{extra}]'")

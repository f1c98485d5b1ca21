"""Things of the user by their path, "package.module:name"."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from recollect.errors import UsageError


def import_path(path: str, what: str) -> Any:
    """What the path names: in an installed package, on Python's path, or in the current folder.

    The current folder is searched last, so a file in it hides no package; it stays on the path, for what the
    module imports later.

    >>> import_path("math:floor", "function")(1.5)
    1
    >>> import_path("math:flour", "function")
    Traceback (most recent call last):
    ...
    recollect.errors.UsageError: Cannot import the function 'math:flour': the module math has no 'flour'. ...
    """
    module, name = _parts(path, what)
    try:
        home = import_module(module)
    except ImportError as error:
        raise _not_found(path, what, str(error)) from None
    except Exception as error:
        raise UsageError(
            f"Cannot import the {what} {path!r}: its module stops with {type(error).__name__}: {error}."
        ) from error
    try:
        return getattr(home, name)
    except AttributeError:
        raise UsageError(
            f"Cannot import the {what} {path!r}: the module {module} has no {name!r}."
            f" It is {getattr(home, '__file__', 'built in')}."
        ) from None


def refuse_missing(path: str, what: str) -> None:
    """Raise UsageError if there is no such module; it is looked for and not imported, which may take long."""
    module, _ = _parts(path, what)
    try:
        found = find_spec(module) is not None
    except (ImportError, ValueError):
        found = False
    if not found:
        raise _not_found(path, what, f"there is no module {module!r}")


def _parts(path: str, what: str) -> tuple[str, str]:
    """Module and name; the current folder is on the path from now on."""
    module, _, name = path.partition(":")
    if not module or not name:
        raise UsageError(f"The path of a {what} is 'package.module:name'; got {path!r}.")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    return module, name


def _not_found(path: str, what: str, reason: str) -> UsageError:
    return UsageError(
        f"Cannot import the {what} {path!r}: {reason}. Is its package installed, or on the path? Searched are"
        f" Python's path (PYTHONPATH) and the current folder, {os.getcwd()}."
    )


def refuse_call(made: Any, called: str, what: str, given: Mapping[str, Any]) -> None:
    """Raise UsageError if `made` is nothing to be called, or not with these arguments."""
    if not callable(made):
        raise UsageError(
            f"The {what} {called!r} is of the type {type(made).__name__}; a class or a function that makes one was"
            " expected."
        )
    try:
        signature = inspect.signature(made)
    except ValueError:  # a function of C without one
        return
    try:
        signature.bind(**given)
    except TypeError as error:
        arguments = "(" + ", ".join(f"{name}=..." for name in given) + ")" if given else "no arguments"
        raise UsageError(
            f"The {what} {called!r} is called with {arguments}, and it takes {signature}: {error}. Change it, its"
            " options, or put a function around it."
        ) from None

"""The command. A file a command; a command is imported when it is called, so that each starts fast."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.text import visible

if TYPE_CHECKING:
    import typer

# In the order of the help page. The module of that name holds a function of that name (with _ after a keyword), or an
# `app` with commands of its own.
COMMANDS = (
    "demo",
    "run",
    "tune",
    "watch",
    "score",
    "dialects",
    "identify",
    "compare",
    "report",
    "figure",
    "reproduce",
    "check",
    "items",
    "push",
    "metrics",
    "import",
    "export",
    "data",
)


# The commands of a command.
SUBCOMMANDS = {"data": ("list", "get", "verify")}


def build(names: tuple[str, ...] = COMMANDS) -> typer.Typer:
    """Make the application; of commands that are not named here only the summary is there, nothing is imported."""
    import typer

    from recollect._version import __version__

    app = typer.Typer(
        name="recollect",
        help="Measure what a continual learner learns, keeps and forgets.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def show_version(asked: bool) -> None:
        if asked:
            typer.echo(f"recollect {__version__}")
            raise typer.Exit

    @app.callback()
    def options(
        version: bool = typer.Option(
            False, "--version", callback=show_version, is_eager=True, help="Print the version and leave."
        ),
    ) -> None:
        pass

    for name in COMMANDS:
        word = name + "_" if iskeyword(name) else name
        if name not in names:
            app.command(name, help=summary_of(word))(_not_called)
            continue
        module = import_module(f"recollect.cli.{word}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(getattr(module, word))
    return app


def summary_of(word: str) -> str:
    """The first paragraph of a command's help, read from its module, which is not imported for it."""
    text = Path(__file__).with_name(f"{word}.py").read_text(encoding="utf-8")
    found = re.search(rf'^def {word}\(.*?"""(.*?)(?:\n\s*\n|""")', text, re.DOTALL | re.MULTILINE)
    found = found or re.search(r'^app = typer\.Typer\(.*?help="(.*?)",?$', text, re.DOTALL | re.MULTILINE)
    return " ".join(found[1].split()) if found else ""


def _not_called() -> None:
    """Stand for a command that is only listed."""
    raise AssertionError("this command is not the one that was called")


def main() -> None:
    """Run the command; errors that a user can cause are one paragraph on stderr and an exit code."""
    from recollect.errors import MissingExtra, RecollectError

    warnings.showwarning = _note_ours(warnings.showwarning)
    called = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    try:
        build(COMMANDS if "_RECOLLECT_COMPLETE" in os.environ else (called,))(prog_name="recollect")
    except RecollectError as error:
        _leave(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        missing = MissingExtra.behind(error)
        if missing is None:
            raise
        _leave(str(missing), missing.exit_code)
    except BrokenPipeError:
        # The reader of our pipe has gone: no more output, and no complaint at shutdown either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _leave(f"the system refused: {error.strerror or error}{where}.", 1)
    except MemoryError:
        _leave("not enough memory for this input.", 1)
    except RecursionError:
        _leave("the input is nested too deeply to be read.", 2)
    except KeyboardInterrupt:
        _leave("interrupted.", 130)


def _note_ours(shown: Callable[..., None]) -> Callable[..., None]:
    """Warnings of ours as notes, all others as they were."""
    from recollect.errors import RecollectWarning

    def show(message: Warning | str, *rest: Any, **named: Any) -> None:
        if isinstance(message, RecollectWarning):
            print(f"note: {visible(str(message))}", file=sys.stderr)
        else:
            shown(message, *rest, **named)

    return show


def _leave(paragraph: str, code: int) -> None:
    sys.stdout.flush()
    print(f"recollect: {visible(' '.join(paragraph.split()))}", file=sys.stderr)
    sys.exit(code)

"""``recollect watch``: experiments while they run."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recollect.errors import UsageError

if TYPE_CHECKING:
    from recollect.report.watch.looking import Watcher

PORT = 8017


def watch(
    folders: Annotated[list[Path] | None, typer.Argument(help="Folders with experiments; by default runs.")] = None,
    terminal: Annotated[
        bool, typer.Option("--terminal", help="Show a table in the terminal, and serve no page.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="Print the table once and leave.")] = False,
    port: Annotated[
        int | None, typer.Option("--port", help=f"Port of the page; by default {PORT}, or a free one.")
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address to listen on. Any but this machine's own needs a token, which is printed."
        ),
    ] = "127.0.0.1",
    token: Annotated[
        str, typer.Option("--token", help="The token that a reader needs.", envvar="RECOLLECT_WATCH_TOKEN")
    ] = "",
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Watch experiments while they run: a page on this machine, or a table in the terminal.

    One line per run with its state, score and time left; curves as rows come, the matrix as it fills, the last lines
    of logs, why a run failed; the full report of every experiment. It reads the run folders and writes nothing. Where
    there is no browser the table is shown in the terminal beside it. Ctrl-C ends it, and no run with it.

    Example: recollect watch runs
    """
    from recollect.report.watch.looking import Watcher

    watcher = Watcher(folders or [Path("runs")])
    if once:
        _print_once(watcher)
        return
    try:
        if terminal:
            _show(watcher)
        else:
            _serve(watcher, host, port, token, browser)
    except KeyboardInterrupt:
        typer.echo("")


def _print_once(watcher: Watcher) -> None:
    from rich.console import Console

    from recollect.report.watch.terminal import table

    watcher.look(whole=True)
    console = Console(width=None if sys.stdout.isatty() else 200)
    console.print(table(watcher, most=1_000_000))


def _serve(watcher: Watcher, host: str, port: int | None, token: str, browser: bool) -> None:
    from recollect.report.watch.server import WatchServer

    try:
        server = WatchServer(watcher, host, PORT if port is None else port, token)
    except UsageError:
        if port is not None:
            raise
        server = WatchServer(watcher, host, 0, token)  # the usual port is taken, and none was asked for
    threading.Thread(target=server.serve_forever, daemon=True).start()
    typer.echo(f"watching {', '.join(watcher.folders)}: {server.address} (Ctrl-C ends it)", err=True)
    try:
        if not (browser and _open(server.address)) and sys.stdout.isatty():
            _show(watcher)
        while True:
            time.sleep(3600)
    finally:
        server.shutdown()
        server.server_close()


def _open(address: str) -> bool:
    """Whether a browser with a window took the address; one that would fill the terminal is not asked."""
    if sys.platform.startswith("linux") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    import webbrowser

    return webbrowser.open(address)


def _show(watcher: Watcher) -> None:
    from rich.console import Console

    from recollect.report.watch.terminal import watch_live

    watch_live(watcher, Console())

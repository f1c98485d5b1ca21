"""The local server behind the page: it reads, and only what its own numbers name.

No part of an address is ever a path: runs and experiments are asked for by the numbers that the server gave them. It
listens on this machine alone; for any other address it wants a token. It answers GET and HEAD, to the names of
its own address only, so that another site cannot read it through a reader's browser.
"""

from __future__ import annotations

import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import lru_cache
from html import escape
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from recollect.errors import RecollectError, UsageError
from recollect.report.page.builder import STATIC, content_hash, wrapped
from recollect.report.watch.detail import detail
from recollect.report.watch.looking import Watcher

_HERE = Path(__file__).parent
_JSON, _HTML = "application/json", "text/html; charset=utf-8"
COOKIE = "recollect-watch"


class WatchServer(ThreadingHTTPServer):
    """Serves what a watcher sees. `port` 0 takes any free one; `token` is made where the address is not this machine's.

    >>> server = WatchServer(Watcher(["."]), port=0)
    >>> server.token, server.address.startswith("http://127.0.0.1:")
    ('', True)
    >>> server.server_close()
    """

    daemon_threads = True

    def __init__(self, watcher: Watcher, host: str = "127.0.0.1", port: int = 0, token: str = "") -> None:
        if not 0 <= port <= 65535:
            raise UsageError(f"--port takes a number from 0 to 65535; got {port}.")
        self.watcher = watcher
        self.is_local = _is_loopback(host)
        self.token = token or ("" if self.is_local else secrets.token_urlsafe(24))
        self.reports = Reports(watcher)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            super().__init__((host, port), Handler)
        except (OSError, UnicodeError) as error:
            why = getattr(error, "strerror", None) or error
            raise UsageError(
                f"Could not listen on {host}, port {port}: {why}. Give another --port or --host."
            ) from None

    @property
    def address(self) -> str:
        """Where to open it, the token included."""
        host, port = self.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/" + (f"?token={self.token}" if self.token else "")

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A reader that went away is no news."""


class Reports:
    """The full pages of experiments, made when they are asked for and kept until a run changes."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._guard = threading.Lock()
        self._kept: dict[int, tuple[int, bytes]] = {}

    def of(self, id: int) -> bytes | None:
        """The page of an experiment; None if there is no such experiment."""
        place = next((one for one in self._watcher.experiments.values() if one.id == id), None)
        if place is None:
            return None
        with self._guard:
            runs = [one for one in self._watcher.runs if one.experiment == id]
            version = max((one.version for one in runs), default=0)
            if self._kept.get(id, (-1, b""))[0] != version:
                self._kept[id] = (version, _page_of([one.path for one in runs if one.rows], place.name))
            return self._kept[id][1]


def _page_of(folders: list[str], title: str) -> bytes:
    from recollect.report.gather import gather
    from recollect.report.page import build_page
    from recollect.runs import attach_joint, group
    from recollect.runs.reading import read_run

    if not folders:
        raise UsageError("No run of this experiment has a row yet.")
    runs = attach_joint([read_run(folder) for folder in folders])
    return build_page(gather(group(runs), title=title)).encode()


class Handler(BaseHTTPRequestHandler):
    """One request: checked, then answered by the function of its path."""

    server: WatchServer
    server_version = "recollect"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        """Answer."""
        asked = urlsplit(self.path)
        given = {name: values[-1] for name, values in parse_qs(asked.query).items()}
        if not self._is_ours():
            self._say(HTTPStatus.FORBIDDEN, "This address is not one that the server was started for.")
        elif not self._is_allowed(given.get("token", "")):
            self._say(HTTPStatus.UNAUTHORIZED, "A token is needed: open the address that `recollect watch` printed.")
        elif asked.path not in _ANSWERS:
            self._say(HTTPStatus.NOT_FOUND, "There is no such page.")
        else:
            try:
                _ANSWERS[asked.path](self, given)
            except RecollectError as error:
                self._say(HTTPStatus.CONFLICT, str(error))

    do_HEAD = do_GET

    def _is_ours(self) -> bool:
        if not self.server.is_local:
            return True  # the token guards it
        name = urlsplit(f"//{self.headers.get('Host', '')}").hostname
        return name == "localhost" or (name is not None and _is_loopback(name))

    def _is_allowed(self, token: str) -> bool:
        wanted = self.server.token
        try:
            kept = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        except CookieError:
            kept = None
        given = token or (kept.value if kept is not None else "")
        return not wanted or hmac.compare_digest(given.encode(), wanted.encode())

    def front(self, given: dict[str, str]) -> None:
        """The page itself; a token in its address becomes a cookie, and leaves the address."""
        if given.get("token"):
            cookie = f"{COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
            self._send(HTTPStatus.SEE_OTHER, b"", _HTML, {"Location": "/", "Set-Cookie": cookie})
            return
        body, policy = front_page()
        self._send(HTTPStatus.OK, body, _HTML, {"Content-Security-Policy": policy})

    def state(self, given: dict[str, str]) -> None:
        """What changed since a version: runs, those that have gone, and the experiments."""
        watcher = self.server.watcher
        watcher.look()
        changed, gone = watcher.since(_number(given, "since"))
        runs = [{name: value for name, value in asdict(one).items() if name != "path"} for one in changed]
        experiments = [{"id": one.id, "name": one.name} for one in watcher.experiments.values()]
        self._json(
            {"version": watcher.version, "waiting": watcher.waiting, "now": time.time(), "folders": watcher.folders}
            | {"experiments": experiments, "runs": runs, "gone": gone}
        )

    def one_run(self, given: dict[str, str]) -> None:
        """All that is shown of one run."""
        one = self.server.watcher.run(_number(given, "id"))
        if one is None:
            self._say(HTTPStatus.NOT_FOUND, "There is no such run any more.")
            return
        self._json(detail(one))

    def report(self, given: dict[str, str]) -> None:
        """The full report of an experiment."""
        page = self.server.reports.of(_number(given, "id"))
        if page is None:
            self._say(HTTPStatus.NOT_FOUND, "There is no such experiment.")
            return
        self._send(HTTPStatus.OK, page, _HTML)

    def _json(self, data: Any) -> None:
        self._send(HTTPStatus.OK, json.dumps(data, allow_nan=False, separators=(",", ":")).encode(), _JSON)

    def _say(self, status: HTTPStatus, words: str) -> None:
        page = (
            f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>recollect watch</title><p>{escape(words)}</p>'
        )
        policy = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        self._send(status, page.encode(), _HTML, {"Content-Security-Policy": policy})

    def _send(self, status: HTTPStatus, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        fixed = {
            "Content-Type": kind,
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
        }
        for name, value in (fixed | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *words: Any) -> None:
        """Requests are not logged: the page asks every second."""


_ANSWERS: dict[str, Callable[[Handler, dict[str, str]], None]] = {
    "/": Handler.front,
    "/state": Handler.state,
    "/run": Handler.one_run,
    "/report": Handler.report,
}


@lru_cache
def front_page() -> tuple[bytes, str]:
    """The page and its policy: it runs its own script, and asks this server alone."""
    static = _HERE / "static"
    script = wrapped([STATIC / "dom.js", static / "watch.js"])
    style = (STATIC / "page.css").read_text(encoding="utf-8") + (static / "watch.css").read_text(encoding="utf-8")
    page = (static / "watch.html").read_text(encoding="utf-8").replace("/*style*/", style).replace("/*script*/", script)
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src '{content_hash(script)}'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return page.encode(), policy


def _number(given: dict[str, str], name: str) -> int:
    text = given.get(name, "0")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""Watching: what is seen of run folders, that nothing in them is touched, and who is answered."""

from __future__ import annotations

import http.client
import io
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect.report.watch import looking
from recollect.report.watch.detail import detail
from recollect.report.watch.looking import Watcher
from recollect.report.watch.server import COOKIE, WatchServer
from recollect.report.watch.terminal import summary, table
from recollect.runs.store import RunFolder
from tests.report.samples import make_run

SECRET = "this must never be served"


def finished(folder: Path, learner: str = "er", seed: int = 0) -> Path:
    whole = make_run(learner, seed, T=4)
    with RunFolder.open(folder, replace(whole, rows=(), status="running", finished=None)) as opened:
        for row in whole.rows:
            opened.append(row)
        opened.finish()
    return folder


def under_way(folder: Path, rows: int = 3, seed: int = 0) -> RunFolder:
    whole = make_run("er", seed, T=4)
    opened = RunFolder.open(folder, replace(whole, rows=(), status="running", planned_seeds=(0, 1, 2)))
    for row in whole.rows[:rows]:
        opened.append(row)
    return opened


def contents(folder: Path) -> dict[str, tuple[bytes, int]]:
    found = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    place = tmp_path / "runs"
    for seed in range(2):
        finished(place / "first" / f"er-s{seed}", seed=seed)
    (tmp_path / "secret.txt").write_text(SECRET)
    return place


def look(place: Path, **options: Any) -> Watcher:
    watcher = Watcher([place], **options)
    watcher.look(whole=True)
    return watcher


def again(watcher: Watcher) -> None:
    watcher.look(whole=True)


def test_rows_show_up_as_they_come_and_the_folder_is_not_touched(runs: Path) -> None:
    with under_way(runs / "second" / "er-s0") as opened:
        before = contents(runs)
        watcher = look(runs)
        (one,) = [run for run in watcher.runs if run.state == "running"]
        assert (one.learned, one.tasks, one.rows) == (2, 4, 3)
        assert one.curve[:2] == pytest.approx([opened.run.matrix.R[0, 0], opened.run.matrix.R[1, :2].mean()])
        assert one.curve[2:] == (None, None)
        version = watcher.version
        again(watcher)
        assert watcher.since(version) == ([], [])
        assert contents(runs) == before
        opened.append(make_run("er", 0, T=4).rows[3])
        again(watcher)
        ((changed,), gone) = watcher.since(version)
        assert (changed.id, changed.learned, gone) == (one.id, 3, [])


def test_time_left_goes_by_the_pace_since_the_last_start(runs: Path) -> None:
    with under_way(runs / "second" / "er-s0") as opened:
        begun = looking.datetime.fromisoformat(opened.run.starts[-1].at).timestamp()
        os.utime(opened.path / "rows.jsonl", (begun + 100, begun + 100))
        (one,) = [run for run in look(runs).runs if run.state == "running"]
        assert one.ends == pytest.approx(begun + 200), "two tasks took 100 s, two are left"


def test_a_killed_run_is_stopped_and_a_failed_one_says_why(runs: Path) -> None:
    made = "import os, signal, sys; from pathlib import Path; sys.path[:0] = sys.argv[2:]\n"
    made += "from tests.report.test_watch import under_way\n"
    made += "opened = under_way(Path(sys.argv[1])); os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", made, runs / "killed" / "er-s0", *sys.path], check=False)
    under_way(runs / "failed" / "er-s1").fail("ValueError: the loss is <b>gone</b>")
    (runs / "failed" / "er-s1" / "error.txt").write_text("Traceback\x1b[31m\nValueError: the loss is <b>gone</b>\n")
    by_state = {run.state: run for run in look(runs).runs}
    assert set(by_state) == {"stopped", "failed", "finished"}
    assert by_state["failed"].message == "ValueError: the loss is <b>gone</b>"
    (log,) = detail(by_state["failed"])["logs"]
    assert "ValueError" in log["text"]
    assert "\x1b" not in log["text"]


def test_damage_is_one_run_with_its_message(runs: Path) -> None:
    rows = runs / "first" / "er-s0" / "rows.jsonl"
    rows.write_bytes(rows.read_bytes().replace(b'"after":1', b'"after":2', 1))
    states = {run.seed: run for run in look(runs).runs}
    assert states[1].state == "finished"
    assert states[None].state == "damaged"
    assert "er-s0" in states[None].message


def test_a_run_that_is_removed_goes_and_thousands_come_over_several_looks(
    runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "BUDGET", 0.0)
    watcher = Watcher([runs])
    watcher.look()
    assert (len(watcher.runs), watcher.waiting) == (0, 2)
    again(watcher)
    assert (len(watcher.runs), watcher.waiting) == (2, 0)
    version = watcher.version
    gone = next(run for run in watcher.runs if run.seed == 0)
    for file in Path(gone.path).iterdir():
        file.unlink()
    again(watcher)
    assert watcher.since(version) == ([], [gone.id])


def test_detail_shows_the_matrix_as_far_as_it_is_filled(runs: Path) -> None:
    with under_way(runs / "second" / "er-s0") as opened:
        (one,) = [run for run in look(runs).runs if run.state == "running"]
        told = json.loads(json.dumps(detail(one), allow_nan=False))
        rows = [row["values"] for row in told["matrix"]]
        assert rows[2:] == [None, None]
        assert rows[1] == pytest.approx(opened.run.matrix.R[1].tolist(), abs=1e-6)


def test_links_out_of_a_run_folder_are_not_followed(runs: Path, tmp_path: Path) -> None:
    (runs / "first" / "er-s0" / "out.log").symlink_to(tmp_path / "secret.txt")
    for one in look(runs).runs:
        assert SECRET not in json.dumps(detail(one))


def test_the_table_says_what_does_not_fit(runs: Path) -> None:
    from rich.console import Console

    watcher = look(runs)
    console = Console(width=150, record=True, file=io.StringIO())
    console.print(table(watcher, most=5))
    text = console.export_text()
    assert "2 finished; 1 more not shown" in text
    assert summary(watcher.runs) == "2 finished"


# -- the server


@pytest.fixture
def server(runs: Path) -> Iterator[WatchServer]:
    yield from served(WatchServer(look(runs)))


def served(made: WatchServer) -> Iterator[WatchServer]:
    threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def ask(server: WatchServer | int, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    port = server if isinstance(server, int) else int(server.server_address[1])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path, headers=headers)
    reply = connection.getresponse()
    body = reply.read().decode()
    connection.close()
    return reply.status, {name.lower(): value for name, value in reply.getheaders()}, body


def test_state_run_and_report(server: WatchServer) -> None:
    status, headers, body = ask(server, "/state?since=0")
    told = json.loads(body)
    assert status == 200
    assert [one["name"] for one in told["experiments"]] == ["first"]
    assert all("path" not in run for run in told["runs"])
    assert json.loads(ask(server, f"/state?since={told['version']}")[2])["runs"] == []
    one = json.loads(ask(server, f"/run?id={told['runs'][0]['id']}")[2])
    assert len(one["matrix"]) == 4
    status, headers, page = ask(server, f"/report?id={told['experiments'][0]['id']}")
    assert status == 200
    assert "Content-Security-Policy" in page
    assert headers["x-content-type-options"] == "nosniff"


OUTSIDE = (
    *("/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//secret.txt", "/state/../../secret.txt"),
    *("/run?id=../../secret.txt", "/run?id=..%2f..%2fsecret.txt", "/report?id=/etc/passwd", "/static/watch.js"),
    *("/run?id=99999999999999999999", "/run?id=-1", "/run?id=%00", "/report?id=1%0a", "/run"),
)


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_address_leads_to_a_file(server: WatchServer, path: str) -> None:
    status, headers, body = ask(server, path)
    assert status == 404
    assert SECRET not in body
    assert "default-src 'none'" in headers["content-security-policy"]


def test_only_get_and_only_under_its_own_name(server: WatchServer) -> None:
    assert ask(server, "/state", method="POST")[0] == 501
    assert ask(server, "/", method="HEAD")[2] == ""
    assert ask(server, "/state", Host="evil.example:8017")[0] == 403
    assert ask(server, "/state", Host="localhost:8017")[0] == 200
    policy = ask(server, "/")[1]["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "'unsafe-inline'" not in policy.partition("script-src")[2].partition(";")[0]


def test_another_address_wants_the_token(runs: Path) -> None:
    for server in served(WatchServer(look(runs), host="0.0.0.0")):
        assert len(server.token) >= 24
        assert [ask(server, path)[0] for path in ("/", "/state", "/run?id=1", "/report?id=1")] == [401] * 4
        assert ask(server, "/?token=wrong")[0] == 401
        assert ask(server, "/state", Cookie=f"{COOKIE}=wrong")[0] == 401
        status, headers, _ = ask(server, f"/?token={server.token}")
        assert (status, headers["location"]) == (303, "/")
        assert "HttpOnly" in headers["set-cookie"]
        cookie = headers["set-cookie"].partition(";")[0]
        assert ask(server, "/state", Cookie=cookie)[0] == 200


def test_a_report_that_cannot_be_made_is_one_paragraph(runs: Path) -> None:
    under_way(runs / "empty" / "er-s0", rows=0).close()
    for server in served(WatchServer(look(runs))):
        id = next(one.id for one in server.watcher.experiments.values() if one.name == "empty")
        status, _, body = ask(server, f"/report?id={id}")
        assert status == 409
        assert "No run of this experiment has a row yet." in body


def test_a_row_while_a_report_is_kept_makes_a_new_one(runs: Path) -> None:
    with under_way(runs / "second" / "er-s0", rows=4) as opened:
        for server in served(WatchServer(look(runs))):
            id = next(one.id for one in server.watcher.experiments.values() if one.name == "second")
            first = ask(server, f"/report?id={id}")[2]
            assert ask(server, f"/report?id={id}")[2] == first
            opened.append(make_run("er", 0, T=4).rows[4])
            server.watcher.look(whole=True)
            assert ask(server, f"/report?id={id}")[2] != first


def test_the_command(runs: Path) -> None:
    called = [sys.executable, "-m", "recollect", "watch"]
    once = subprocess.run([*called, runs, "--once"], capture_output=True, text=True, check=True)
    assert "er split toy s1" in once.stdout
    missing = subprocess.run([*called, runs / "nowhere", "--once"], capture_output=True, text=True, check=False)
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    process = subprocess.Popen([*called, runs, "--port", "0", "--no-browser"], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        port = int(line.partition("http://127.0.0.1:")[2].partition("/")[0])
        assert len(json.loads(ask(port, "/state?since=0")[2])["runs"]) == 2
    finally:
        process.terminate()
        process.wait()
        process.stderr.close()

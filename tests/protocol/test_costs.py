"""What each row cost, and the energy that the kernel counts."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from recollect.errors import MissingExtra, UsageError
from recollect.learners import Setting, make_learner
from recollect.protocol import energy, iter_run, meter, run_protocol
from recollect.report.columns import cost_columns
from recollect.report.gather import gather
from recollect.runs import group
from recollect.runs.reading import read_run
from recollect.runs.seeds import derive
from recollect.streams import Stream, stream_from_arrays


def make_stream() -> Stream:
    x = np.arange(12, dtype=np.uint8).reshape(12, 1)
    return stream_from_arrays(x, [0, 1, 2] * 4, x, [0, 1, 2] * 4, name="toy", tasks=3)


def test_every_row_has_its_cost_also_after_a_kill(tmp_path: Path) -> None:
    stream = make_stream()

    def guess() -> object:
        return make_learner("random", {}, Setting.of(stream), derive(0))

    running = iter_run(guess(), stream, tmp_path / "run", name="random")  # type: ignore[arg-type]
    next(running), next(running)
    running.close()
    run_protocol(guess(), stream, tmp_path / "run", name="random")  # type: ignore[arg-type]
    run = read_run(tmp_path / "run")
    assert len(run.row_costs) == len(run.rows) == 4
    for name in ("train_seconds", "evaluate_seconds"):
        assert sum(cost.get(name, 0) for cost in run.row_costs) == pytest.approx(run.timings[name], abs=1e-4)
    assert max(cost["evaluate_peak_bytes"] for cost in run.row_costs) == run.cost["evaluate_peak_bytes"]
    costs = gather(group([run])).streams[0].costs["random"]
    wanted = [cost["train_seconds"] + cost["evaluate_seconds"] for cost in run.row_costs[1:]]
    assert costs["seconds"].value.tolist() == pytest.approx(wanted)


def test_energy_is_counted_where_the_kernel_counts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def package(name: str, used: int) -> None:
        place = tmp_path / name
        place.mkdir(exist_ok=True)
        (place / "energy_uj").write_text(f"{used}\n")
        (place / "max_energy_range_uj").write_text("10000000\n")

    package("intel-rapl:0", 9_000_000)
    package("intel-rapl:0:0", 1)  # a part of the package, which counts it already
    package("intel-rapl:1", 0)
    assert set(energy.counters(tmp_path)) == {"intel-rapl:0", "intel-rapl:1"}
    read = energy.counters
    monkeypatch.setattr(energy, "counters", lambda: read(tmp_path))
    counted = meter.Meter()
    counted.start("train")
    package("intel-rapl:0", 500_000)
    package("intel-rapl:1", 2_000_000)
    counted.stop()
    counted.end_lap()
    assert counted.totals["train_joules"] == counted.laps[0]["train_joules"] == 3.5
    assert read(tmp_path / "nowhere") == {}


def test_codecarbon_estimates_energy_where_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tracker:
        def __init__(self, **options: object) -> None:
            assert options["output_methods"] == []
            self.tasks = 0

        def start_task(self) -> None:
            self.tasks += 1

        def stop_task(self) -> SimpleNamespace:
            return SimpleNamespace(energy_consumed=self.tasks * 1e-6)

    assert not meter.Meter()._estimated
    monkeypatch.setitem(sys.modules, "codecarbon", SimpleNamespace(OfflineEmissionsTracker=Tracker))
    monkeypatch.setenv(energy.VARIABLE, "codecarbon")
    counted = meter.Meter()
    for phase in ("train", "evaluate", "train"):
        counted.start(phase)
    counted.stop()
    assert counted.totals["train_codecarbon_joules"] == pytest.approx(3.6 * (2 + 4))
    assert counted.totals["evaluate_codecarbon_joules"] == pytest.approx(3.6 * 3)
    columns = {one.title: one.ids for one in cost_columns(["train_joules", *counted.totals])}
    assert columns["energy"] == ("train_joules",)
    assert columns["energy (est.)"] == ("train_codecarbon_joules", "evaluate_codecarbon_joules")
    monkeypatch.setitem(sys.modules, "codecarbon", None)
    with pytest.raises(MissingExtra, match=r"recollect\[codecarbon\]"):
        meter.Meter()
    monkeypatch.setenv(energy.VARIABLE, "rapl")
    with pytest.raises(UsageError, match="RECOLLECT_ENERGY is 'codecarbon', or not set; got 'rapl'"):
        meter.Meter()


def test_the_real_codecarbon(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("codecarbon")
    monkeypatch.setenv(energy.VARIABLE, "codecarbon")
    counted = meter.Meter()
    counted.start("train")
    sum(range(10**6))
    counted.stop()
    assert 0 < counted.totals["train_codecarbon_joules"] < 1000

"""The engine's overhead over fitting, predicting and scoring."""

import contextlib
import io
from dataclasses import replace

import pytest

from bnnbench.commands import suite
from bnnbench.engine.declare.case import Case
from bnnbench.engine.run import scoring
from bnnbench.engine.store.store import Store
from tests.suites.fakes import Line, Mean
from tests.suites.miniature import QUICK

RUNS = 200
SUITE = replace(QUICK, cases=(Case(Line(folds=RUNS), ()),), methods={"Mean": Mean()}, folds=RUNS)


def carry_out(out) -> None:
    flags = ["--out", str(out), "--no-report", "--executor", "serial"]
    with contextlib.redirect_stdout(io.StringIO()):
        assert suite.command({"quick": SUITE}, flags) == 0


def test_what_the_engine_adds_to_a_run(benchmark, tmp_path, monkeypatch):
    """From the plan to the tables; fit, predict and score are measured and subtracted.

    The target is 10 ms a run.
    """
    seconds = []
    score = scoring.score

    def timed(*arguments):
        start = benchmark._timer()
        result = score(*arguments)
        seconds.append(benchmark._timer() - start)
        return result

    monkeypatch.setattr(scoring, "score", timed)
    folders = iter(tmp_path / str(number) for number in range(100))
    carry_out(next(folders))  # imports, git
    seconds.clear()
    out = next(folders)
    benchmark.pedantic(carry_out, args=(out,), rounds=1)
    if not benchmark.enabled:
        pytest.skip("timing is off")
    costs = [record.cost for record in Store(out / "miniature").records()]
    work = sum(cost.fit_seconds + cost.predict_seconds for cost in costs) + sum(seconds)
    overhead = (benchmark.stats["total"] - work) / len(costs)
    benchmark.extra_info["milliseconds_a_run"] = 1000 * overhead
    assert len(costs) == RUNS


def test_finding_that_everything_is_finished(benchmark, tmp_path):
    """The same command again: 200 records are read and nothing is done."""
    carry_out(tmp_path)
    benchmark.pedantic(carry_out, args=(tmp_path,), rounds=3)

"""The cost of a store: to write, to read whole, to plan and to tabulate."""

import pickle
from dataclasses import replace

import pytest

from bnnbench.commands.planning.plan import plan
from bnnbench.engine.declare.case import Case
from bnnbench.engine.store.store import Store
from bnnbench.engine.store.tables import write_tables
from tests.suites.fakes import Line, Mean
from tests.suites.miniature import QUICK
from tests.suites.small_store import OUTCOMES

RUNS = 1000
SUITE = replace(
    QUICK, cases=(Case(Line(folds=20), ()),), methods={"Mean": Mean()}, folds=20, seeds=RUNS // 20
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store in which every run of the suite is finished."""
    folder = tmp_path_factory.mktemp("many") / "miniature"
    store, outcome = Store(folder), OUTCOMES[0]
    metrics = {name: 1.0 for e in SUITE.evaluations for name in e.metrics}
    store.write_all(
        (
            replace(
                outcome.record,
                **{"key": run.key, "run": run.description, "fold": run.fold, "seed": run.seed},
                scores={"clean": metrics},
            ),
            outcome.predictions,
        )
        for run in SUITE.runs()
    )
    return folder


def test_every_record_is_read(benchmark, folder):
    records = benchmark(lambda: list(Store(folder).records()))
    assert len(records) == RUNS


def test_what_is_left_to_do(benchmark, folder):
    planned = benchmark.pedantic(lambda: plan(SUITE, Store(folder), "cpu", False), rounds=3)
    assert (len(planned.runs), planned.left) == (RUNS, 0)


def test_tables(benchmark, folder):
    benchmark.pedantic(lambda: write_tables(Store(folder)), rounds=3)
    assert len((folder / "metrics.csv").read_text().splitlines()) == 1 + 2 * RUNS


@pytest.mark.parametrize("together", [1, 20])
def test_a_driver_writes_what_1000_workers_send(benchmark, tmp_path, together):
    """Each sends one outcome of 50 kB, pickled as through a pipe."""
    sent = [
        pickle.dumps((replace(OUTCOMES[0].record, key=f"{worker:020x}"), bytes(50_000)))
        for worker in range(1000)
    ]
    store = Store(tmp_path)

    def drive() -> None:
        for start in range(0, len(sent), together):
            store.write_all([pickle.loads(one) for one in sent[start : start + together]])

    benchmark.pedantic(drive, rounds=1)
    benchmark.extra_info["runs_a_second"] = len(sent) / benchmark.stats["total"]
    assert len(list(store.run_keys())) == len(sent)

"""The resources that a plan may use, estimated from finished runs."""

import math
import time
from dataclasses import replace

import pytest

from bnnbench.commands.planning import budget as module
from bnnbench.commands.planning import shipped_costs
from bnnbench.commands.planning.budget import Cost, Experience, budget
from bnnbench.commands.planning.shipped_costs import Shipped, epochs_in
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.records.cost import Cost as Taken
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.mfvi import Mfvi
from tests.records import changed
from tests.suites import fakes
from tests.suites.commands import FAST, WITH_OPTIONAL, call
from tests.suites.fakes import Line, Mean, Slow
from tests.suites.miniature import QUICK

EVALUATIONS = (Evaluation(Clean(), ("rmse",)),)
RUN = Run("miniature", "quick", "label", Case(Line(), ()), Slow(0.0, epochs=10), fold=0, seed=0)


def record(run=RUN, seconds=2.0, peak=100.0, rows=16, **changes):
    (outcome,) = execute(Task((run,), EVALUATIONS))
    return changed(
        outcome.record,
        cost=Taken(0.75 * seconds, 0.25 * seconds, peak),
        facts={"train_rows": rows},
        **changes,
    )


def test_the_same_method_on_the_same_data_takes_the_median_of_what_it_took():
    records = [record(seconds=s, peak=p) for s, p in ((1.0, 10.0), (2.0, 30.0), (9.0, 20.0))]
    found = Experience(records).cost(replace(RUN, fold=3, seed=7, profile="paper"), 16)
    assert found == Cost(2.0, 30.0, "same")


def test_on_other_data_time_grows_with_the_rows():
    found = Experience([record()]).cost(replace(RUN, case=Case(Line("long", rows=60), ())), 40)
    assert found == Cost(5.0, 100.0, "scaled")


def test_in_other_settings_time_grows_with_the_epochs():
    found = Experience([record()]).cost(replace(RUN, method=Slow(0.0, epochs=30)), 16)
    assert found == Cost(6.0, 100.0, "scaled")


def test_a_wrapper_tells_nothing_of_another_method_inside():
    wrapped = replace(RUN, method=Ensemble(2, AdamW(epochs=10)))
    experience = Experience([replace(record(), run=wrapped.description)])
    longer = replace(RUN, method=Ensemble(2, AdamW(epochs=30)))
    assert experience.cost(longer, 16) == Cost(6.0, 100.0, "scaled")
    assert experience.cost(replace(RUN, method=Ensemble(2, Mfvi(epochs=30))), 16) is None


def test_the_same_settings_tell_more_than_others():
    slow = replace(RUN, method=Slow(0.0, epochs=20))
    experience = Experience([record(), record(slow, seconds=40.0)])
    found = experience.cost(replace(slow, case=Case(Line("other"), ())), 16)
    assert found.seconds == pytest.approx(40.0)


@pytest.mark.parametrize("epochs", [{"training": {"epochs": 7}}, {"a": 1, "epochs": 7}])
def test_epochs_are_found_in_what_a_method_is_made_of(epochs):
    assert epochs_in(epochs) == 7
    assert epochs_in({"epochs": None}) is None


def test_nothing_is_known_of_other_methods_failures_and_unknown_rows():
    experience = Experience([record(), record(status="failed")])
    assert experience.cost(replace(RUN, method=Mean()), 16) is None
    assert experience.cost(replace(RUN, case=Case(Line("elsewhere"), ())), None) is None
    failed = record(status="failed")
    assert Experience([failed]).cost(RUN, 16) is None


def test_workers_share_tasks_as_they_become_free():
    runs = [replace(RUN, fold=fold) for fold in range(4)]
    tasks = [Task((run,), EVALUATIONS) for run in runs[:3]] + [Task((runs[3],), EVALUATIONS)]
    seconds = dict(zip((run.key for run in runs), (3.0, 1.0, 1.0, 4.0), strict=True))
    costs = {key: Cost(s, 10 * s, "same") for key, s in seconds.items()}
    assert budget(tasks, costs, workers=1).seconds == 9.0
    found = budget(tasks, costs, workers=2)
    assert found.seconds == 6.0  # 3 | 1 1 4
    assert (found.bytes, found.largest) == (40.0, tasks[3])
    assert found.unknown == 0


def test_runs_fitted_together_need_the_memory_of_all():
    runs = (RUN, replace(RUN, fold=1), replace(RUN, fold=2))
    costs = {run.key: Cost(1.0, 10.0, "same") for run in runs[:2]} | {runs[2].key: None}
    found = budget([Task(runs, EVALUATIONS)], costs, workers=3)
    assert (found.seconds, found.bytes, found.unknown) == (2.0, 20.0, 1)


def test_a_fit_that_runs_share_counts_once():
    other = replace(RUN, method=Mean()), replace(RUN, method=Mean(), fold=1)
    runs = (RUN, replace(RUN, fold=1), *other)
    task = Task(runs, EVALUATIONS)
    seconds = dict(zip((run.key for run in runs), (3.0, 1.0, 4.0, 0.5), strict=True))
    costs = {key: Cost(s, 10 * s, "same") for key, s in seconds.items()}
    found = budget([task], costs, workers=1)
    assert (found.seconds, found.bytes) == (5.0, 50.0)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (61, "61 s"), (600, "10 min"), (9000, "2.5 h"), (4e5, "4.6 days")],
)
def test_durations_are_told_in_a_unit_that_people_use(seconds, words):
    assert module.in_words(seconds) == words


def test_a_dry_run_tells_what_is_to_do_and_touches_nothing(tmp_path):
    first = call(tmp_path, "--dry-run")
    assert first.code == 0
    assert "4 runs: 4 to do" in first.output
    assert "Estimated time: unknown" in first.output
    assert list(tmp_path.iterdir()) == []
    call(tmp_path, "--folds", "1")
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    answer = call(tmp_path, "--dry-run", suite=replace(FAST, methods=QUICK.methods, folds=3))
    assert "9 runs: 2 finished earlier, 7 to do" in answer.output
    lines = [line.split() for line in answer.output.splitlines() if line.startswith("line  ")]
    assert [line[:4] for line in lines] == [
        ["line", "Mean", "2", "1"],
        ["line", "Slow", "3", "0"],
        ["line", "Together", "2", "1"],
    ]
    assert lines[1][4:] == ["unknown", "unknown"]
    assert "and 3 runs whose time is unknown" in answer.output
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before


def test_a_dry_run_downloads_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(fakes.Elsewhere, "fetch", lambda _: pytest.fail("a download"))
    suite = replace(WITH_OPTIONAL, optional=())
    answer = call(tmp_path, "--dry-run", suite=suite)
    assert answer.code == 0
    assert "elsewhere: missing; the command would download it" in answer.output
    assert "4 runs: 4 to do" in answer.output


def test_an_estimate_is_near_what_a_run_takes(tmp_path):
    suite = replace(FAST, methods={"Slow": Slow(0.2)})
    call(tmp_path, "--folds", "1", suite=suite)
    (took,) = (r.cost.fit_seconds for r in Store(tmp_path / "miniature").records())
    answer = call(tmp_path, "--dry-run", suite=replace(suite, folds=4))
    (line,) = (x for x in answer.output.splitlines() if x.startswith("Estimated time"))
    assert math.isclose(float(line.split()[-2]), 3 * took, rel_tol=0.1, abs_tol=0.1)


KEPT = Shipped(rows=16, epochs=10.0, seconds=3.0, bytes=50.0)


@pytest.fixture
def kept(monkeypatch):
    """Finished runs that ship with this version: those of RUN."""
    table = {("miniature", "quick", "line", "label"): KEPT}
    monkeypatch.setattr(shipped_costs, "shipped_costs", lambda: table)


def twice():
    return 2.0


def test_shipped_runs_tell_what_a_store_does_not_at_the_speed_of_this_machine(kept):
    assert Experience([], twice).cost(RUN, 16) == Cost(6.0, 50.0, "shipped")
    assert Experience([record()], twice).cost(RUN, 16) == Cost(2.0, 100.0, "same")
    assert Experience([], twice).cost(replace(RUN, label="another"), 16) is None


def test_shipped_costs_are_scaled_only_for_a_method_that_passes_over_the_rows(kept):
    assert Experience([], twice).cost(RUN, 32).seconds == 12.0
    assert Experience([], twice).cost(RUN, 17).seconds == 6.0
    longer = replace(RUN, method=Slow(0.0, epochs=30))
    assert Experience([], twice).cost(longer, 16).seconds == 18.0
    assert Experience([], twice).cost(replace(RUN, method=Mean()), 16) is None


def test_a_store_scales_only_the_time_of_methods_with_epochs():
    run = replace(RUN, method=Mean())
    assert Experience([record(run)], twice).cost(replace(run, case=Case(Line("b"), ())), 16) is None


def test_the_machine_is_measured_only_if_shipped_costs_are_needed():
    experience = Experience([record()], lambda: pytest.fail("measured"))
    assert experience.cost(RUN, 16).basis == "same"


def test_measuring_this_machine_takes_the_time_it_says_and_repeats():
    begin = time.perf_counter()
    first, second = (shipped_costs.step_seconds(0.3) for _ in range(2))
    assert time.perf_counter() - begin < 10
    assert 0 < first < 0.1
    assert 0.5 < first / second < 2


def test_a_dry_run_says_about_and_where_its_estimate_is_from(tmp_path, kept, monkeypatch):
    measured = 2 * shipped_costs.REFERENCE_SECONDS
    monkeypatch.setattr(shipped_costs, "step_seconds", lambda: measured)
    unknown = replace(KEPT, epochs=None)
    table = {("miniature", FAST.profile, "line", m): unknown for m in ("Mean", "Together")}
    monkeypatch.setattr(shipped_costs, "shipped_costs", lambda: table)
    answer = call(tmp_path, "--dry-run")
    assert answer.output.count("about 12 s") == 2
    assert "1 worker: about 24 s" in answer.output
    assert "4 runs: from the finished runs of this repository" in answer.output
    assert "2 times as slow" in answer.output

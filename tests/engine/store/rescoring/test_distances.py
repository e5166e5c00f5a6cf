"""Distances of every record to the reference's predictions."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from bnnbench.commands.planning.plan import plan
from bnnbench.commands.running.arguments import Refit
from bnnbench.commands.suite import command
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.engine.run.execute import execute
from bnnbench.engine.store.rescoring import another_run
from bnnbench.engine.store.rescoring.distances import add_distances
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.methods.networks.architectures import Linear
from bnnbench.methods.predictions.base import CannotAnswer
from bnnbench.metrics import DISTANCES
from tests.records import changed
from tests.suites.fakes import Coins, Diverging, Line, Mean, Slow, Together

SUITE = Suite(
    name="near",
    title="Lines",
    profile="quick",
    cases=(Case(Line(), ()),),
    methods={"Truth": Mean(), "One": Together(), "Other": Slow(seconds=0.0)},
    evaluations=(Evaluation(Clean(), ("rmse",)),),
    folds=2,
    reference="Truth",
)


def carried_out(suite: Suite, store: Store, refit: Refit = "missing") -> list[str]:
    """Run the rest of a suite and return its messages on distances."""
    for task in plan(suite, store, "cpu", refit).tasks:
        for outcome in execute(task):
            store.write(outcome.record, outcome.predictions)
    return add_distances(suite, store)


def of(store: Store, method: str, fold: int = 0, seed: int = 0):
    (found,) = [r for r in store.current() if (r.method, r.fold, r.seed) == (method, fold, seed)]
    return found


def in_metres(store: Store, record):
    """Return the stored mixture at each point, by NumPy, in the target's unit."""
    (prediction, _) = store.predictions(record.key)["clean"]
    mean, std = record.circumstances.target["mean"], record.circumstances.target["std"]
    means = mean + std * prediction.means.double().numpy()[..., 0]
    return means, std * prediction.variances.double().numpy()[..., 0] ** 0.5


def test_scores_are_the_distances_of_the_kept_predictions_in_target_units(tmp_path):
    store = Store(tmp_path)
    assert carried_out(SUITE, store) == []
    for method in ("One", "Other"):
        for fold in range(2):
            record = of(store, method, fold)
            means, stds = in_metres(store, record)
            true_means, true_stds = in_metres(store, of(store, "Truth", fold))
            # These fakes predict the same everywhere, so that one point represents all.
            x = np.linspace(-20, 30, 200_001)

            def densities(means, stds, x=x):
                return stats.norm(means[:, :1], stds[:, :1]).pdf(x).mean(0)

            q, p = densities(means, stds), densities(true_means, true_stds)
            kl = np.trapezoid(p * np.log(p / q), x)
            assert record.outcome.scores["clean"]["kl_from_reference"] == pytest.approx(
                kl, rel=1e-6
            )
            levels = [integrate.cumulative_trapezoid(f, x, initial=0) for f in (q, p)]
            inside = np.linspace(1e-7, 1 - 1e-7, 100_001)
            gap = np.interp(inside, levels[0], x) - np.interp(inside, levels[1], x)
            expected = np.sqrt(np.trapezoid(gap**2, inside))
            assert record.outcome.scores["clean"]["wasserstein2"] == pytest.approx(
                expected, rel=1e-3
            )


@pytest.mark.long
def test_the_reference_run_alone_has_no_distance(tmp_path):
    store = Store(tmp_path)
    carried_out(replace(SUITE, seeds=2), store)
    assert not DISTANCES.keys() & of(store, "Truth").outcome.scores["clean"].keys()
    for method, seed in [("Truth", 1), ("One", 0), ("One", 1)]:
        assert of(store, method, seed=seed).outcome.scores["clean"].keys() == {"rmse", *DISTANCES}


@pytest.mark.long
def test_a_reference_that_comes_later_gives_finished_runs_their_distances(tmp_path):
    store = Store(tmp_path)
    others = {label: m for label, m in SUITE.methods.items() if label != "Truth"}
    (line,) = carried_out(replace(SUITE, methods=others), store)
    assert line == "distances to Truth on line, fold 0, 1: none, because its seed 0 was never run"
    assert of(store, "One").outcome.scores["clean"].keys() == {"rmse"}
    assert carried_out(SUITE, store) == []
    at_once = Store(tmp_path / "at once")
    carried_out(SUITE, at_once)
    for method in others:
        assert of(store, method).outcome.scores == of(at_once, method).outcome.scores


def test_methods_chosen_without_the_reference_are_compared_with_its_kept_run(tmp_path):
    store = Store(tmp_path)
    carried_out(replace(SUITE, methods={"Truth": Mean()}), store)
    assert carried_out(replace(SUITE, methods={"One": Together()}), store) == []
    assert of(store, "One").outcome.scores["clean"].keys() == {"rmse", *DISTANCES}


@pytest.mark.long
def test_every_run_that_gets_distances_is_told(tmp_path):
    store, lines = Store(tmp_path), []
    for task in plan(SUITE, store, "cpu", "missing").tasks:
        for outcome in execute(task):
            store.write(outcome.record, outcome.predictions)
    add_distances(SUITE, store, lines.append)
    assert lines == [
        f"Distances to Truth on line, fold {fold}: [{k}/2] {method}, seed 0"
        for fold in range(2)
        for k, method in ((1, "One"), (2, "Other"))
    ]
    add_distances(SUITE, store, lines.append)
    assert len(lines) == 4


def test_what_has_its_distances_is_left_alone(tmp_path, monkeypatch):
    store = Store(tmp_path)
    carried_out(SUITE, store)
    before = {path: path.stat().st_mtime_ns for path in store.runs.glob("*/record.json")}
    monkeypatch.setattr(
        "bnnbench.engine.store.rescoring.another_run.Tabulated", None
    )  # none is made again
    assert add_distances(SUITE, store) == []
    assert before == {path: path.stat().st_mtime_ns for path in before}


@pytest.mark.long
def test_another_reference_replaces_the_distances(tmp_path):
    store, fresh = Store(tmp_path), Store(tmp_path / "fresh")
    changed = replace(SUITE, methods=dict(SUITE.methods) | {"Truth": Mean(shake=3.0)})
    carried_out(SUITE, store)
    earlier = of(store, "One")
    carried_out(changed, store)
    carried_out(changed, fresh)
    assert of(store, "One").outcome.scores == of(fresh, "One").outcome.scores
    assert of(store, "One").reference != earlier.reference


def test_a_reference_that_fails_takes_the_distances_away_and_says_why(tmp_path):
    store = Store(tmp_path)
    carried_out(SUITE, store)
    broken = replace(SUITE, methods=dict(SUITE.methods) | {"Truth": Diverging()})
    (line,) = carried_out(broken, store)
    assert line.startswith("distances to Truth on line, fold 0, 1: none, it diverged: the loss")
    assert of(store, "One").outcome.scores["clean"].keys() == {"rmse"}
    assert of(store, "One").reference is None


@pytest.mark.long
def test_a_reference_that_is_not_converged_is_named(tmp_path):
    store = Store(tmp_path)
    carried_out(SUITE, store)
    for fold, converged in enumerate([1.0, 0.0]):
        truth = of(store, "Truth", fold)
        store.rewrite(changed(truth, diagnostics={"converged": converged}))
    (line,) = add_distances(SUITE, store)
    assert line.startswith("distances to Truth on line, fold 1: it did not converge")
    assert DISTANCES.keys() < of(store, "One", 1).outcome.scores["clean"].keys()


def test_a_method_that_failed_has_no_distance(tmp_path):
    store = Store(tmp_path)
    methods = {"Truth": Mean(), "Broken": Diverging()}
    assert carried_out(replace(SUITE, methods=methods), store) == []
    assert of(store, "Broken").outcome.scores == {}


@pytest.mark.long
def test_a_record_names_the_predictions_that_its_distances_are_to(tmp_path):
    store = Store(tmp_path)
    carried_out(SUITE, store)
    truth = of(store, "Truth")
    content = (store.runs / truth.key / "predictions.npz").read_bytes()
    named = {"key": truth.key, "sha256": hashlib.sha256(content).hexdigest()}
    assert of(store, "One").reference == named


def test_missing_predictions_of_the_reference_are_named_with_the_cure(tmp_path):
    store = Store(tmp_path)
    carried_out(SUITE, store)
    (store.runs / of(store, "Truth").key / "predictions.npz").unlink()
    with pytest.raises(CorruptRecord, match=r"predictions.npz.*remove"):
        add_distances(SUITE, store)


@pytest.mark.long
def test_what_cannot_be_compared_is_asked_once_and_a_later_answer_leaves_no_reason(
    tmp_path, monkeypatch
):
    def refuse(*pair):
        raise CannotAnswer("no density")

    store = Store(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(another_run, "_in_original_units", refuse)
        carried_out(SUITE, store)
        asked = of(store, "One")
        assert asked.outcome.unanswered["clean"].keys() == DISTANCES.keys()
        before = (store.runs / asked.key / "record.json").stat().st_mtime_ns
        add_distances(SUITE, store)
        assert (store.runs / asked.key / "record.json").stat().st_mtime_ns == before
    for method in ("One", "Other"):  # with another reference, everything is compared again
        carried_out(replace(SUITE, reference=method), store)
    answered = of(store, "One")
    assert answered.outcome.scores["clean"].keys() >= DISTANCES.keys()
    assert "clean" not in answered.outcome.unanswered


def test_class_probabilities_are_refused(tmp_path):
    coins = replace(SUITE, cases=(Case(Coins(), ()),), evaluations=(Evaluation(Clean(), ("nll",)),))
    with pytest.raises(
        TypeError, match="predictions of real-valued targets, not CategoricalPredictive"
    ):
        carried_out(coins, Store(tmp_path))


def test_a_suite_without_reference_says_and_scores_nothing(tmp_path):
    store = Store(tmp_path)
    assert carried_out(replace(SUITE, reference=None), store) == []
    assert of(store, "One").outcome.scores["clean"].keys() == {"rmse"}


@pytest.mark.long
def test_the_command_prints_distances_and_says_why_there_are_none(tmp_path, capsys):
    arguments = ["--out", str(tmp_path), "--no-report", "--executor", "serial", "--in-process"]
    assert command({"quick": SUITE}, [*arguments, "--methods", "one"]) == 0
    assert "distances to Truth on line, fold 0, 1: none" in capsys.readouterr().out
    assert command({"quick": SUITE}, arguments) == 0
    printed = capsys.readouterr().out
    assert "distances to" not in printed
    assert "W2 to the reference" in printed
    rows = (tmp_path / "near" / "metrics.csv").read_text().splitlines()
    units = {row.split(",")[8]: row.split(",")[-1] for row in rows}
    assert units["wasserstein2"] == "target_units"
    assert units["kl_from_reference"] == "nats"


@pytest.mark.parametrize("seed", [0, 1])
def test_equal_predictions_are_at_no_distance(tmp_path, seed):
    store = Store(tmp_path)
    same = {"Truth": Together(), "Same": Together(diverges_at=1e9)}
    carried_out(replace(SUITE, methods=same, seeds=seed + 1), store)
    scores = of(store, "Same").outcome.scores["clean"]
    assert torch.equal(
        store.predictions(of(store, "Same").key)["clean"][0].means,
        store.predictions(of(store, "Truth").key)["clean"][0].means,
    )
    assert scores["wasserstein2"] == 0
    assert scores["kl_from_reference"] == pytest.approx(0, abs=1e-12)


@pytest.mark.long
def test_every_case_has_a_reference_of_its_own(tmp_path):
    cases = Case(Line(), (), "plain"), Case(Line(), (Linear(1),), "deep")
    store = Store(tmp_path)
    suite = replace(SUITE, cases=cases)
    assert carried_out(suite, store) == []
    references = {r.dataset: r.key for r in store.current() if r.method == "Truth" and r.fold == 0}
    for record in store.current():
        if record.method != "Truth" and record.fold == 0:
            assert record.reference["key"] == references[record.dataset]

"""Scores against a certified posterior, and a class's statement about its relation to it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.known_noise import KnownNoise
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Certified, Evaluation, Suite
from bnnbench.engine.store.rebuilding import rebuilt_run
from bnnbench.engine.store.rescoring.distances import add_distances
from bnnbench.engine.store.rescoring.false_scores import false_scores
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.networks.priors import FixedPrecision
from bnnbench.metrics import CERTIFIED
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.predictions.truths import comparison
from bnnbench.reports.sections.suites.truth import _choice, _drawings
from bnnbench.reports.style.palette import styles
from tests.engine.store.rescoring.test_distances import carried_out, of
from tests.records import changed
from tests.suites.truth.references.conftest import MODEL, SOURCE, keep_references, references

__all__ = ["references"]

pytestmark = pytest.mark.long

POINT = AdamW(epochs=2)
SUITE = Suite(
    name="near",
    title="Distances to a certified posterior",
    profile="quick",
    cases=(Case(KnownNoise(SOURCE, 0.3), MODEL.architecture, "known", prior=MODEL.prior),),
    methods={
        "HMC": Hmc(draws=12, chains=1, warmup=4, thinning=1, leapfrog_steps=5),
        "HMC longer": Hmc(draws=14, chains=1, warmup=4, thinning=1, leapfrog_steps=5),
        "MFVI": Mfvi(epochs=2, draws=7),
        "MFVI cold": Mfvi(epochs=2, draws=7, kl_weight=0.1),
        "IVON": Ivon(epochs=2, draws=7),
        "Laplace": Laplace(POINT),
        "AdamW": POINT,
    },
    evaluations=(Evaluation(Clean(), ("rmse", "log_likelihood")),),
)


@pytest.fixture
def suite(references):
    return replace(SUITE, reference=Certified(str(references)))


@pytest.fixture
def small(suite):
    """Return the suite with two of its methods."""
    return replace(suite, methods={name: SUITE.methods[name] for name in ("HMC", "AdamW")})


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "results")


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> Store:
    """Return a read-only store with all runs of the suite, and the reference next to it."""
    folder = tmp_path_factory.mktemp("finished")
    suite = replace(SUITE, reference=Certified(str(keep_references(folder))))
    store = Store(folder / "results")
    assert carried_out(suite, store) == []
    return store


def drawn(store: Store) -> np.ndarray:
    """Return the draws of the reference next to a store."""
    with np.load(store.folder.parent / "known" / "draws.npz") as file:
        low, high = file["low"], file["high"]
        return low + (high - low) * file["codes"] / 65_535


@pytest.mark.long
def test_scores_agree_with_the_stored_draws(finished):
    f = drawn(finished)
    mean, std = f.mean(0), f.std(0)
    record = of(finished, "AdamW")
    point = finished.predictions(record.key)["clean"][0].means[0, :, 0].double().numpy()
    scores = record.outcome.scores["clean"]
    assert scores["mean_error"] == pytest.approx((np.abs(point - mean) / std).mean(), rel=1e-6)
    away = np.sqrt(std**2 + (point - mean) ** 2) / std
    assert scores["w2_relative"] == pytest.approx(away.mean(), rel=1e-6)
    assert scores["std_ratio"] == 0.0
    assert "joint_kl_5" not in scores
    assert "whole functions" in record.outcome.unanswered["clean"]["joint_kl_5"]
    assert CERTIFIED.keys() <= of(finished, "HMC").outcome.scores["clean"].keys()


def test_relations_follow_from_the_methods_classes(finished):
    found = {r.method: r.reference["relation"] for r in finished.current()}
    assert found == {
        "HMC": "matched",
        "HMC longer": "matched",
        "MFVI": "matched",
        "MFVI cold": "same family, other prior",
        "IVON": "same family, other prior",
        "Laplace": "same family, other prior",
        "AdamW": "no posterior",
    }


@pytest.mark.parametrize(
    "changed",
    [{"prior": None}, {"prior": FixedPrecision(2.0)}, {"network": mlp([4], 1)}],
)
def test_a_method_that_is_given_another_model_is_not_matched(small, store, changed):
    other = replace(small, cases=(replace(small.cases[0], **changed),))
    carried_out(other, store)
    assert of(store, "HMC").reference["relation"] == "same family, other prior"


def test_data_other_than_the_references_have_no_scores(small, store):
    shorter = KnownNoise(Limited(DiabetesAsUci(), train=39, test=6), 0.3)
    other = replace(small, cases=(replace(small.cases[0], source=shorter),))
    (doubt,) = carried_out(other, store)
    assert "known: train_inputs does not match" in doubt
    assert of(store, "HMC").reference is None


def test_a_method_with_its_own_noise_has_no_distance(small, store):
    other = replace(small, cases=(replace(small.cases[0], source=KnownNoise(SOURCE, 0.2)),))
    carried_out(other, store)
    record = of(store, "HMC")
    assert (
        "needed predictions with the model's noise"
        in record.outcome.unanswered["clean"]["w2_relative"]
    )
    assert not CERTIFIED.keys() & record.outcome.scores["clean"].keys()


def test_a_command_for_one_method_leaves_the_scores_of_others(small, store):
    carried_out(small, store)
    before = of(store, "AdamW")
    carried_out(replace(small, methods={"HMC": SUITE.methods["HMC"]}), store)
    assert of(store, "AdamW") == before
    assert CERTIFIED.keys() & before.outcome.scores["clean"].keys()


def test_a_reference_that_is_refused_takes_its_scores_away(small, store, references):
    carried_out(small, store)
    path = references / "known" / "certificate.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"chains": 4}))
    (doubt,) = add_distances(small, store)
    assert "known: certificate.json, passes: True" in doubt
    assert not any(CERTIFIED.keys() & r.outcome.scores["clean"].keys() for r in store.current())


def test_a_score_that_was_changed_is_found(finished):
    record = of(finished, "HMC")
    assert false_scores(finished, record) == []
    scores = {"clean": {**record.outcome.scores["clean"], "w2_relative": 0.01}}
    assert (
        "w2_relative under clean is 0.01"
        in false_scores(finished, changed(record, scores=scores))[0]
    )


def test_runs_with_a_prior_are_others_and_are_rebuilt(small, finished):
    record = of(finished, "HMC")
    assert rebuilt_run(record).prior == MODEL.prior
    without = replace(small, cases=(replace(small.cases[0], prior=None),))
    assert next(without.runs()).key != next(small.runs()).key
    assert "prior" not in next(without.runs()).description


def test_the_table_ranks_methods_of_one_relation_and_shows_floors(finished):
    (benchmark,) = benchmarks(list(finished.current()))
    found = comparison(finished, benchmark)
    assert found is not None
    listing = _choice(found, "known").listing
    assert listing is not None
    rows = {row[0]: row for row in listing.rows}
    assert [row[0] for row in listing.rows[:2]] == [
        "exact posterior",
        "two halves of the reference",
    ]
    ranks = {name: (row[1], row[2]) for name, row in rows.items() if name in SUITE.methods}
    for relation in ("matched", "same family, other prior", "no posterior"):
        ranked = [int(rank) for of_row, rank in ranks.values() if of_row == relation]
        assert min(ranked) == 1
        assert max(ranked) <= len(ranked)
    headings = dict(zip(listing.headings, range(len(listing.headings)), strict=True))
    assert rows["AdamW"][headings["draws"]] == "1"
    assert rows["HMC"][headings["draws"]] == "12"
    assert rows["Laplace"][headings["draws"]] == "–"
    assert rows["Laplace"][headings["joint KL"]] == "–"
    floors = {n: float(rows[n][headings["floor of W2"]]) for n in ("AdamW", "HMC", "HMC longer")}
    assert floors["AdamW"] > 1 > floors["HMC"] > floors["HMC longer"] > 0.2
    f, y = drawn(finished), benchmark_targets(finished)
    density = np.exp(-((y - f) ** 2) / 0.18) / np.sqrt(2 * np.pi * 0.09)
    scale = of(finished, "HMC").circumstances.target["std"]
    expected = np.log(density.mean(0)).mean() - np.log(scale)
    assert float(rows["exact posterior"][headings["log lik."]]) == pytest.approx(expected, rel=5e-3)


def test_figures_show_ranks_width_densities_and_functions(finished):
    (benchmark,) = benchmarks(list(finished.current()))
    found = comparison(finished, benchmark)
    assert found is not None
    rows = found.rows
    assert rows.keys() == SUITE.methods.keys()
    # Rows and table are from the same prediction: means over rows are the scores of seed 0.
    for method, of_method in rows.items():
        scores = of(finished, method).outcome.scores["clean"]
        assert of_method.kl.mean() == pytest.approx(scores["kl_from_truth"], rel=1e-6)
    drawings = list(_drawings(found, styles(SUITE.methods), "x", "known"))
    assert [name for name, _ in drawings] == [
        "Bias and width",
        "Likelihood and truth",
        *["The function at a test row"] * 4,
        *["Functions at two test rows"] * 2,
    ]
    figures = dict(drawings)
    assert "Spearman's ρ" in figures["Likelihood and truth"].caption
    f = drawn(finished)
    heading = figures["Functions at two test rows"].heading
    i, j = (int(word) for word in heading.removeprefix("known, test rows ").split(" and "))
    exact = np.corrcoef(f[:, i], f[:, j])[0, 1]
    assert f"truth {exact:.2f}" in figures["Functions at two test rows"].caption


def benchmark_targets(store: Store) -> np.ndarray:
    return store.predictions(of(store, "HMC").key)["clean"][1][:, 0].double().numpy()

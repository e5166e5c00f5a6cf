"""Measurements of a posterior by a suite, from the declaration to the store."""

from dataclasses import dataclass, field, replace

import pytest
import torch

from bnnbench.commands.planning.plan import plan
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.traits import Traits, from_data
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.declare.probe import Measured
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.store import Store
from bnnbench.methods.base import InferenceDiverged
from tests.suites.commands import call, rows
from tests.suites.fakes import Line, Mean
from tests.suites.miniature import QUICK


@dataclass(frozen=True)
class Centre:
    """Measures the position of the toy posterior, with the error of a mean of draws."""

    samples: int = 5
    condition: str = "layer_1_C"
    metric: str = "eps_mu"
    harm: str = field(default="")

    def measure(self, posterior, dataset, rng):
        if self.harm == "diverges":
            raise InferenceDiverged("nothing to measure")
        if self.harm == "writes":
            dataset.test.inputs.zero_()
        drawn = torch.randn(self.samples, generator=rng).mean()
        scores = {self.metric: float(posterior.centre + drawn)}
        return {self.condition: Measured(scores, Traits("layer 1", layer=1, layer_kind="C"))}


SUITE = replace(QUICK, methods={"Mean": Mean(), "Shaken": Mean(2.0)}, probes=(Centre(),), folds=1)
RUN = next(SUITE.runs())
CLEAN = (Evaluation(Clean(), ("rmse",)),)


def outcome(*probes):
    (found,) = execute(Task((replace(RUN, probes=probes),), CLEAN))
    return found.record


def test_a_measurement_is_a_score_of_its_own_condition():
    record = outcome(Centre())
    assert record.outcome.status == "completed"
    assert (
        set(record.outcome.scores)
        == {"clean", "layer_1_C"}
        == set(record.circumstances.condition_origins)
    )
    assert record.circumstances.condition_origins["layer_1_C"] == "original"
    traits = {name: from_data(data) for name, data in record.circumstances.condition_traits.items()}
    assert (traits["layer_1_C"].layer, traits["layer_1_C"].layer_kind) == (1, "C")
    assert traits["clean"].clean
    without = outcome()
    assert record.outcome.scores["clean"] == without.outcome.scores["clean"]
    # A mean of 10,000 draws is within 0.05 of 0.
    exact = outcome(Centre(samples=10_000)).outcome.scores["layer_1_C"]["eps_mu"]
    assert exact == pytest.approx(record.outcome.diagnostics["centre"], abs=0.05)


def test_all_methods_are_measured_by_the_same_draws():
    def drawn(label):
        (run,) = (run for run in SUITE.runs() if run.label == label)
        (found,) = execute(Task((run,), CLEAN))
        return (
            found.record.outcome.scores["layer_1_C"]["eps_mu"]
            - found.record.outcome.diagnostics["centre"]
        )

    assert drawn("Mean") == pytest.approx(drawn("Shaken"), abs=1e-6)


def test_probes_draw_apart():
    record = outcome(Centre(), Centre(condition="layer_2_C"))
    first, second = (record.outcome.scores[f"layer_{k}_C"]["eps_mu"] for k in (1, 2))
    assert first != second


@pytest.mark.parametrize(
    ("probe", "reason"),
    [
        (Centre(condition="clean"), "conditions that are already scored: clean"),
        (Centre(metric="eps_nu"), "eps_nu, which metrics.PROBED does not declare"),
        (Centre(harm="writes"), "changed the data"),
    ],
)
def test_a_probe_that_goes_wrong_fails_the_run_and_says_why(probe, reason):
    record = outcome(probe)
    assert record.outcome.status == "failed"
    assert reason in record.outcome.error
    assert record.outcome.scores == {}


def test_a_posterior_of_which_nothing_can_be_measured_diverged():
    record = outcome(Centre(harm="diverges"))
    assert (record.outcome.status, record.outcome.error) == ("diverged", "nothing to measure")


def test_other_settings_of_a_probe_are_another_run_and_none_leaves_the_name_as_it_was():
    keys = {replace(RUN, probes=probes).key for probes in ((), (Centre(),), (Centre(6),))}
    assert len(keys) == 3
    assert "probes" not in replace(RUN, probes=()).description
    plain = Run("miniature", "quick", "Mean", Case(Line(), ()), Mean(), fold=0, seed=0)
    assert replace(RUN, probes=()).key == plain.key


def kept(folder, suite=SUITE) -> Store:
    store = Store(folder)
    for task in plan(suite, store, "cpu").tasks:
        for found in execute(task):
            store.write(found.record, found.predictions)
    return store


def test_a_changed_probe_is_measured_again_and_an_unchanged_one_is_not(tmp_path):
    store = kept(tmp_path)
    assert plan(SUITE, store, "cpu").left == 0
    assert plan(replace(SUITE, probes=(Centre(50),)), store, "cpu").left == 2


def test_scoring_again_loses_no_measurement(tmp_path):
    store = kept(tmp_path)
    before = {record.key: record.outcome.scores["layer_1_C"] for record in store.records()}
    more = replace(SUITE, evaluations=(Evaluation(Clean(), ("rmse", "crps")),))
    assert plan(more, store, "cpu").left == 0
    for record in store.records():
        assert record.outcome.scores["layer_1_C"] == before[record.key]
        assert "crps" in record.outcome.scores["clean"]


def test_distances_to_a_reference_leave_measurements_alone(tmp_path):
    suite = replace(SUITE, reference="Shaken")
    answer = call(tmp_path, suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    found = {(r["condition"], r["metric"]) for r in rows(tmp_path) if r["method"] == "Mean"}
    assert {("layer_1_C", "eps_mu"), ("clean", "wasserstein2")} <= found
    assert ("layer_1_C", "wasserstein2") not in found


def test_the_command_line_chooses_the_samples_and_shows_what_was_measured(tmp_path):
    answer = call(tmp_path, "--samples", "7", suite=SUITE)
    assert answer.code == 0, answer.output + answer.errors
    (record, _) = Store(tmp_path / "miniature").records()
    assert record.run["probes"][0]["samples"] == 7
    assert "eps_mu" in answer.output
    assert "layer_1_C" in answer.output


def test_a_suite_that_draws_nothing_has_no_such_flag(tmp_path):
    answer = call(tmp_path, "--samples", "7", suite=replace(SUITE, probes=()))
    assert answer.code == 2
    assert "--samples" in answer.errors

"""`bnnbench check` finds each way to break the contract, and nothing else."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch

from bnnbench.commands import check as command
from bnnbench.methods.base import Unsupported
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.methods.tuning.space import Integers, Log, Space
from bnnbench.suites.check import results
from bnnbench.suites.check.contract import OF_FITS, OF_MANY, OF_METHODS
from bnnbench.suites.check.fits import Broken
from bnnbench.suites.check.method_checks import has_settings_of_their_types
from bnnbench.suites.check.predictions import first_fault
from bnnbench.suites.check.problems import problems_of
from bnnbench.suites.check.results import ANY, FITS, checked
from tests.suites.check.broken import (
    Line,
    broken,
    fit_by_the_global_generator,
    fit_many_by_place,
    fit_many_coupled_by_rows,
    fit_many_in_single_precision,
    fit_many_that_raises,
    fit_many_with_one_stream,
    fit_many_with_shared_data,
    fit_moving_numpy,
    fit_softmax,
    fit_that_scales_its_data,
    fit_with_a_whole_diagnostic,
    fit_without_diagnostics,
    log_probs_of_a_regression,
    outputs_of_a_batch,
    predict_anything,
    predict_boastfully,
    predict_classes,
    predict_nan,
    predict_nothing,
    predict_one_point,
    predict_one_row_less,
    predict_quantiles,
    predict_rounded,
    predict_shuffled_quantiles,
    predict_with_an_own_shift,
    predicting,
)
from tests.warm import python

ROOT = Path(__file__).resolve().parents[2]


def titles(*names: str) -> set[str]:
    return {c.title for c in (*OF_METHODS, *OF_FITS, *OF_MANY) if c.run.__name__ in names}


def failed(method: Any, *names: str) -> set[str]:
    """Return the sentences violated on problems of perceptrons, without answers to odd ones.

    Only the named checks are run, if any are named.
    """
    kinds = {kind: make for kind, make in problems_of(method).items() if "mlp" in kind}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(results, "problems_of", lambda _: kinds)
        for group in ("OF_METHODS", "OF_FITS", "OF_MANY") if names else ():
            some = [check for check in getattr(results, group) if check.run.__name__ in names]
            patch.setattr(results, group, some)
        patch.setattr(results, "odd_answers", lambda *_: ())
        return {result.title for result in checked(method).failed}


def test_a_sound_method_keeps_the_contract():
    results = checked(Line())
    assert results.failed == []
    assert results.taken == ("mlp regression", "linear regression", "cnn regression")
    assert set(results.refused.values()) == {"needed a regression; got classes"}


def test_predictions_of_any_shape_are_compared_by_their_points():
    on_the_spot = titles("has_plain_settings", "travels")
    assert failed(predicting(predict=predict_quantiles)) == on_the_spot
    found = failed(predicting(predict=predict_shuffled_quantiles))
    assert titles("permutes_with_the_points", "predicts_in_halves") <= found


@pytest.mark.parametrize(
    ("method", "names"),
    [
        (broken(fit=fit_moving_numpy), ["leaves_global_generators"]),
        (
            broken(fit=fit_by_the_global_generator),
            ["leaves_global_generators", "repeats_by_an_equal_stream"],
        ),
        (broken(fit=fit_that_scales_its_data), ["leaves_training_data"]),
        (broken(fit=fit_with_a_whole_diagnostic), ["has_finite_diagnostics"]),
        (predicting(predict=predict_anything), ["predicts_again_the_same"]),
        (predicting(predict=predict_with_an_own_shift), ["permutes_with_the_points"]),
        (predicting(predict=predict_nan), ["predicts_every_point"]),
        (predicting(predict=predict_one_point), ["predicts_every_point"]),
        (predicting(predict=predict_classes), ["predicts_every_point"]),
        (predicting(outputs=outputs_of_a_batch), ["predicts_in_halves"]),
        (
            predicting(variances=lambda self, mean: torch.zeros_like(mean)),
            ["predicts_distributions"],
        ),
        (predicting(predict=predict_boastfully), ["gives_answers_of_one_distribution"]),
        (broken(fit_many=fit_many_with_one_stream), ["equals_fits_alone", "fails_alone"]),
        (broken(fit_many=fit_many_in_single_precision), ["equals_fits_alone_in_float64"]),
        (broken(fit_many=fit_many_that_raises), ["fails_alone"]),
        (broken(fit_many=fit_many_coupled_by_rows), ["is_not_coupled_by_the_last_batch"]),
        (broken(fit_many=fit_many_by_place), ["does_not_depend_on_company"]),
        (broken(fit_many=fit_many_with_shared_data), ["shares_data_between_seeds"]),
        (broken(fit=fit_without_diagnostics), ["has_the_form_of_the_protocols"]),
        (broken(__repr__=lambda self: "Line(scale=2.0)"), ["travels"]),
        (predicting(predict=predict_rounded), ["survives_the_store"]),
        (predicting(log_probs=log_probs_of_a_regression), ["says_that_it_has_no_gradient"]),
        (broken(fit=fit_softmax(1.1)), ["has_the_gradient_of_its_probabilities"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_each_way_to_break_it_is_found(method, names):
    assert len(titles(*names)) == len(names)
    assert titles(*names) <= failed(method, *names)


@pytest.mark.parametrize(
    ("method", "names"),
    [
        (broken(fit=fit_moving_numpy), ["leaves_global_generators"]),
        (broken(fit=fit_with_a_whole_diagnostic), ["has_finite_diagnostics"]),
        (broken(fit_many=fit_many_that_raises), ["fails_alone"]),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_one_fault_fails_one_check(method, names):
    found = failed(method) - titles("has_plain_settings", "travels")  # made on the spot
    assert found == titles(*names)


def test_a_class_that_can_be_changed_is_found():
    @dataclass
    class Loose:
        scale: float = 0.1
        fit = Line.fit
        posterior = Line.posterior

    assert titles("has_plain_settings", "travels") <= failed(Loose())


@pytest.mark.parametrize(
    ("setting", "law", "fault"),
    [
        ("5", Integers(2, 50), "the setting neighbours is declared as int, and is '5'"),
        (True, Integers(2, 50), "the setting neighbours is declared as int, and is True"),
        (5, Log(1.0, 50.0), "its space has neighbours = 1.0, not an integer"),
    ],
)
def test_settings_and_spaces_have_the_declared_types(setting, law, fault):
    @dataclass(frozen=True)
    class Typed:
        neighbours: int = setting
        space: ClassVar[Space] = Space({"neighbours": law})

    with pytest.raises(Broken, match=fault):
        has_settings_of_their_types(Typed())


def test_a_space_names_settings_that_there_are():
    @dataclass(frozen=True)
    class Misspelt:
        epochs: int = 5
        space: ClassVar[Space] = Space({"epoch": Integers(2, 50)})

    with pytest.raises(Broken, match="epoch = 2, which fails: Misspelt has no setting epoch"):
        has_settings_of_their_types(Misspelt())


def test_a_bug_is_told_from_a_problem_that_is_not_taken():
    def fit(self, problem, rng):
        return problem.likelihood.classes

    results = checked(broken(fit=fit))
    (first, *_) = results.failed
    assert first.title == FITS
    assert "AttributeError" in first.failures["mlp regression"]
    assert "let fit raise Unsupported" in first.failures["mlp regression"]


def test_an_exact_gradient_passes():
    title = titles("has_the_gradient_of_its_probabilities")
    assert not title & failed(broken(fit=fit_softmax(1.0)))


def test_a_method_that_refuses_everything_does_not_keep_it():
    def fit(self, problem, rng):
        raise Unsupported("needed a miracle")

    (only,) = [r for r in checked(broken(fit=fit)).failed if r.title == ANY]
    assert "needed a miracle" in only.failures[""]


def test_a_classifier_of_logits_is_found():
    @dataclass(frozen=True)
    class Logits:
        diagnostics = {}  # noqa: RUF012

        def predict(self, inputs, rng):
            return CategoricalPredictive(torch.zeros(1, len(inputs), 3))

    def fit(self, problem, rng):
        return Logits()

    results = checked(broken(fit=fit))
    (result,) = [r for r in results.failed if r.title in titles("predicts_distributions")]
    assert "use log_softmax of logits" in result.failures["mlp classification"]


def test_nan_is_not_taken_for_chance_or_for_a_fault_of_the_store():
    found = failed(predicting(predict=predict_nan))
    assert found == titles("predicts_every_point", "has_plain_settings", "travels")
    (reason,) = {
        reason
        for result in checked(predicting(predict=predict_nan)).failed
        if result.title in titles("predicts_every_point")
        for reason in result.failures.values()
    }
    assert reason == "predicts NaN for 1 point (GaussianPredictive.means)"


@pytest.mark.parametrize(
    ("method", "kinds", "fault"),
    [
        (Line(), ["mlp regression"], ""),
        (Line(), ["mlp classification", "mlp regression"], ""),
        (Line(), ["mlp classification"], "needed a regression; got classes"),
        (predicting(predict=predict_nan), ["mlp regression"], "predicts NaN for 1 point"),
        (predicting(predict=predict_nothing), ["mlp regression"], "returns a NoneType: return a"),
        (predicting(predict=predict_one_row_less), ["mlp regression"], "0 predictions for 1 point"),
        (broken(fit=lambda *_: None), ["mlp regression"], "no diagnostics and no predict"),
        (broken(fit=lambda *_: 1 / 0), ["mlp regression"], "ZeroDivisionError: division by zero"),
    ],
    ids=range(8),
)
def test_what_keeps_predictions_from_being_scored_is_named(method, kinds, fault):
    found = first_fault(method, kinds)
    assert fault in found
    assert bool(found) == bool(fault)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (
            ["tests.commands.test_check:Line(scale=0.5)"],
            0,
            "The method fulfils the contract: 24 checks passed",
        ),
        (["tests.suites.fakes:Blank"], 3, "predict"),
        (["tests.suites.fakes:Line"], 2, "has no fit"),
        (["admw"], 2, "did you mean 'adamw'?"),
        (["adamw(epoch=3)"], 2, "did you mean 'epochs'?"),
        (["adamw("], 2, "is missing at the end"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_command_prints_a_page_and_exits_by_what_it_found(capsys, arguments, code, text):
    assert command.main(arguments) == code
    output = capsys.readouterr()
    assert text in output.out + output.err
    assert ("FAILED" in output.out) == (code == 3)


@pytest.mark.long
def test_epochs_are_few_unless_they_are_to_stay(capsys):
    command.main(["tests.suites.fakes:Slow(seconds=0.001)"])
    assert "Slow (seconds=0.001; epochs=2)" in capsys.readouterr().out
    command.main(["tests.suites.fakes:Slow(seconds=0.001)", "--as-given"])
    assert "Slow (seconds=0.001)\n" in capsys.readouterr().out


@pytest.mark.long
def test_the_method_of_the_readme_keeps_the_contract(tmp_path):
    code, *_ = (ROOT / "docs" / "adding_a_method.md").read_text().split("```python\n")[1:]
    (tmp_path / "nearest.py").write_text(code.partition("```")[0])
    done = subprocess.run(
        python("-m", "bnnbench", "check", "nearest.py:NearestNeighbours"),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "takes    classification by a perceptron" in done.stdout
    assert "takes    regression by a perceptron" in done.stdout


def test_the_threads_of_a_check_are_one_unless_told(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(command, "_check", lambda *_: 0)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert command.main(["marginal"]) == 0
        assert torch.get_num_threads() == 1
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        torch.set_num_threads(2)
        assert command.main(["marginal"]) == 0
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)

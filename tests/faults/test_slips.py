"""A fault of one method is its own failure, reported with its place; other numbers stay."""

from dataclasses import replace

import jaxtyping
import pytest

from bnnbench.commands.planning.share import TRIES
from bnnbench.commands.report import main as report
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.store.store import Store
from tests.faults.slips import POSTERIORS, SOUND, Slip, Sometimes, around
from tests.suites.commands import call

COMPLETED = {
    "gradient": {"rmse", "log_likelihood", "crps", "picp_90", "sharpness"},
    "own gradient": {"rmse"},
    "diagnostics with a gradient": {"rmse", "log_likelihood", "crps", "picp_90", "sharpness"},
    "mute refusal": set(),
    "bfloat16": {"rmse"},
    "large": {"rmse", "log_likelihood", "crps", "picp_90", "sharpness"},
}
"""Fault → the scores of a run that is completed nevertheless."""

DIVERGED = {
    "mute divergence": "MuteDivergence, whose text raises RuntimeError",
    "wordless divergence": "InferenceDiverged",
    "infinite": "predicts an infinity under the condition clean (GaussianPredictive.means)",
    "infinite own": "predicts an infinity under the condition clean (Own.centre)",
    "overflow": "rmse is inf under the condition clean",
    "absurd": "rmse is 5.22e+38 under the condition clean",
}

RAISED = {
    "mute in fit": "Mute: <exception str() failed>",
    "mute in predict": "Mute: <exception str() failed>",
    "surrogates": r"RuntimeError: half a character: \udc80",
    "long": "xxx",
    "beyond": "Beyond: out of reach",
    "exits": "SystemExit: 0",
    "late": "unsupported operand type(s) for /: 'Tensor' and 'str'",
    "packed twice": "RuntimeError: packed twice",
    "broken variance": "unsupported operand type(s) for /: 'Tensor' and 'str'",
    "no tensor": "'str' object has no attribute",
}
"""Fault → the error raised in the method's own file."""

REFUSED = {
    "odd key": "needed names of diagnostics as text; got a int",
    "odd value": "could not convert string to float: 'large'",
    "no mapping": "'list' object has no attribute",
    "odd names": "needed arrays with names as text from tests.faults.slips:OddNames; got a int",
    "two means": "Doubled.mean: needed real numbers of shape (8, 1); got float32 of shape (8, 2)",
    "flat density": "log_likelihood of Flat: needed one number, or one for each of 8 points; got "
    "shape (8, 2)",
    "two outputs": "GaussianPredictive.mean: needed real numbers of shape (8, 1); got float64 of "
    "shape (8, 2)",
    "no draws": "GaussianPredictive.means: needed Float[Tensor, 'draws points outputs']; got "
    "float32 of shape (8, 1)",
    "complex": "GaussianPredictive.means: needed Float[Tensor, 'draws points outputs']; got "
    "complex64 of shape (3, 8, 1)",
    "integers": "GaussianPredictive.means: needed Float[Tensor, 'draws points outputs']; got "
    "int64 of shape (3, 8, 1)",
    "own complex": "needed an array of real numbers for 'centre' of tests.faults.slips:Own; got "
    "Tensor of torch.complex64",
    "arrays": "GaussianPredictive.means: needed Float[Tensor, 'draws points outputs']; got a "
    "ndarray",
    "mute posterior": "Mute: <exception str() failed>",
}
"""Fault → the error raised by a check of the method's result."""


@pytest.fixture(autouse=True)
def unchecked():
    """Switch off the checks of shapes that only tests make, as for third-party methods."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def stored(out):
    store = Store(out / "slips")
    return {
        (r.method, r.fold, r.seed): (r.outcome.scores, r.outcome.diagnostics, store.packed(r.key))
        for r in store.records()
        if r.method in SOUND.methods
    }


def slips(out):
    return [record for record in Store(out / "slips").records() if record.method == "Slip"]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The valid methods' numbers without another method."""
    out = tmp_path_factory.mktemp("sound")
    assert call(out, suite=SOUND).code == 0
    return stored(out)


def test_every_slip_has_an_expected_ending():
    assert {*COMPLETED, *DIVERGED, *RAISED, *REFUSED} == POSTERIORS.keys()


@pytest.mark.parametrize("name", COMPLETED)
def test_a_slip_without_consequence_is_scored(tmp_path, undisturbed, name):
    answer = call(tmp_path, suite=around(Slip(name)))
    assert answer.code == 0
    assert "3 of 3 runs completed" in answer.output
    (record,) = slips(tmp_path)
    assert (record.outcome.status, set(record.outcome.scores.get("clean", ()))) == (
        "completed",
        COMPLETED[name],
    )
    assert stored(tmp_path) == undisturbed


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if number else ())
        for endings in (DIVERGED, RAISED, REFUSED)
        for number, name in enumerate(endings)
    ],
)
def test_a_slip_is_the_failure_of_its_own_run(tmp_path, undisturbed, name):
    answer = call(tmp_path, suite=around(Slip(name)))
    assert answer.code == (0 if name in DIVERGED else 3)
    assert answer.errors == ""
    assert "2 of 3 runs completed" in answer.output
    status = "diverged" if name in DIVERGED else "failed"
    (line,) = (text for text in answer.output.splitlines() if text.startswith(f"{status}: Slip on"))
    assert {**DIVERGED, **RAISED, **REFUSED}[name] in line
    assert ('slips.py", line ' in answer.output) == (name in RAISED)
    (record,) = slips(tmp_path)
    assert (record.outcome.status, record.outcome.scores) == (status, {})
    assert len(record.outcome.error) < 30_000
    assert stored(tmp_path) == undisturbed


@pytest.mark.long
def test_a_worker_survives_a_slip(tmp_path, undisturbed):
    suite = replace(
        SOUND,
        methods={
            "First": SOUND.methods["First"],
            **{name: Slip(name) for name in ("mute divergence", "odd key", "beyond")},
            "Last": SOUND.methods["Last"],
        },
    )
    answer = call(tmp_path, "--executor", "processes", "--workers", "1", suite=suite)
    assert answer.code == 3
    assert "2 of 5 runs completed" in answer.output
    found = stored(tmp_path)
    assert {key: found[key] for key in undisturbed} == undisturbed


def test_a_number_of_absurd_size_is_short(tmp_path):
    answer = call(tmp_path, suite=around(Slip("large")))
    assert "e+12" in answer.output
    assert "000000000" not in answer.output


def test_a_page_says_where_a_method_failed(tmp_path):
    call(tmp_path, suite=around(Slip("broken variance")))
    assert report([str(tmp_path / "slips"), "--out", str(tmp_path / "site")]) == 0
    pages = "".join(page.read_text() for page in (tmp_path / "site").rglob("*.html"))
    assert "in variance" in pages
    assert "return self.centre / " in pages


@pytest.mark.long
def test_the_same_error_everywhere_is_tried_three_times_in_each_command(tmp_path):
    suite = around(Slip("broken variance"), folds=4, seeds=2)
    for _ in range(2):
        answer = call(tmp_path, suite=suite)
        assert answer.code == 3
        assert f"16 of 24 runs completed, {8 - TRIES} not tried" in answer.output
        (line,) = (text for text in answer.output.splitlines() if text.startswith("Slip on line: "))
        assert f"{TRIES} runs failed in the same place" in line
        assert "in variance; its other runs are not tried" in line
        assert answer.output.count("return self.centre / ") == 1
        assert len(slips(tmp_path)) == TRIES
    assert len(stored(tmp_path)) == 16
    del suite.methods["Slip"]
    assert call(tmp_path, suite=suite).code == 0


def test_an_own_density_that_raises_later_has_no_score_and_stops_no_command(tmp_path):
    suite = around(Slip("late"), reference="First", evaluations=(Evaluation(Clean(), ("rmse",)),))
    assert call(tmp_path, suite=suite).code == 0
    answer = call(tmp_path, suite=replace(suite, evaluations=SOUND.evaluations))
    assert answer.code == 0
    assert "Late raised TypeError: unsupported operand" in answer.output
    (record,) = slips(tmp_path)
    assert {"wasserstein2", "log_likelihood"} <= record.outcome.unanswered["clean"].keys()
    assert set(record.outcome.scores["clean"]) == {"rmse"}


def test_an_error_of_some_runs_stops_no_others(tmp_path):
    call(tmp_path, suite=around(Sometimes(), folds=4, seeds=2))
    statuses = [record.outcome.status for record in slips(tmp_path)]
    assert len(statuses) == 8
    assert set(statuses) == {"completed", "failed"}

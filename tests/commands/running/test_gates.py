"""Gates admit a long fit, or say in a sentence why not; the first failure ends them."""

import csv
import pickle
from collections import Counter
from dataclasses import dataclass, replace
from math import log
from statistics import mean, stdev
from typing import Any

import pytest
import torch

from bnnbench.commands.running import gates as module
from bnnbench.commands.running.gates import Verdict, verdicts
from bnnbench.datasets.base import Categorical
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.official import cifar10
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.stand_ins import DigitsAsCifar10
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.gates import FirstPass, Gates
from bnnbench.engine.declare.grid import Suite
from bnnbench.methods.base import Method, Problem
from bnnbench.methods.fitting.rehearsal import Rehearsal
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.message_passing.method import MessagePassing
from bnnbench.suites.cifar10 import SUITES
from bnnbench.suites.cifar10.short_gpu import RENTED
from tests.commands import short_gpu_machine

CPU = torch.device("cpu")
TEST_ROWS = 5
"""Of eight, on which the scores are others."""
FINE = Rehearsal(0.005, 264_147, 5e9, 80e9, 1e-6)  # 22.0 minutes


@dataclass(frozen=True)
class Rehearsing(Marginal):
    """A method that is rehearsed."""


@pytest.fixture
def case(folder, monkeypatch) -> Case:
    """Artificial images, by the source of the official ones."""
    for part, files in short_gpu_machine.files().items():
        monkeypatch.setitem(cifar10.FILES, part, files)
    short_gpu_machine.write(folder)
    return Case(Cifar10(), ())


def found(case: Case, gates: Gates, method: Method = Rehearsing()) -> list[Verdict]:
    return list(verdicts(gates, Suite("made", "Made", (case,), {"M": method}, ()), CPU))


def outcomes(seen: list[Verdict]) -> dict[str, bool | None]:
    return {verdict.gate: verdict.passed for verdict in seen}


def gates(rehearsal: Rehearsal = FINE, **changes: object) -> Gates:
    def rehearse(method: object, problem: Problem) -> Rehearsal:
        assert isinstance(method, Rehearsing)
        assert problem.likelihood == Categorical(10)
        assert len(problem.train) == 40
        return rehearsal

    plain = FirstPass(Marginal(), **share_of_labels())
    return Gates("paper", ("M",), "none", Rehearsing, rehearse, 25, replace(plain, **changes))


def share_of_labels() -> dict[str, Any]:
    """Return the scores of predicting the frequencies of the artificial training labels."""
    read = [pickle.loads(content)["labels"] for content in short_gpu_machine.contents().values()]
    train, test = [label for labels in read[:5] for label in labels], read[5][:TEST_ROWS]
    counts = Counter(train)
    loss = -sum(log((counts[label] + 1) / (len(train) + 10)) for label in test) / len(test)
    likeliest = max(range(10), key=lambda label: counts[label])
    return {
        "accuracy": test.count(likeliest) / len(test),
        "log_loss": loss,
        "accuracy_within": 1e-3,
        "log_loss_within": 1e-3,
        "test_rows": TEST_ROWS,
    }


def test_all_gates_pass_in_their_order(case):
    passed = [(gate, True) for gate in ("data", "graphs", "minutes", "memory", "first pass")]
    assert list(outcomes(found(case, gates())).items()) == [("kernels", None), *passed]


@pytest.mark.parametrize(
    ("rehearsal", "gate", "words"),
    [
        (
            replace(FINE, difference=2e-5),
            "graphs",
            "differ from rounds without graphs by 2.0e-05, more than",
        ),
        (replace(FINE, difference=float("inf")), "graphs", "more than"),
        (replace(FINE, step_seconds=0.006), "minutes", "26.4 minutes, more than the limit of 25"),
        (replace(FINE, peak_bytes=77e9), "memory", "too much: --methods 'MP(on_host=True)'"),
    ],
)
def test_a_gate_that_fails_is_the_last_and_says_why(case, rehearsal, gate, words):
    last = found(case, gates(rehearsal))[-1]
    assert (last.gate, last.passed) == (gate, False)
    assert words in last.sentence


def test_what_a_cpu_cannot_tell_is_not_decided(case):
    rehearsal = Rehearsal(0.005, 100, 0.0, 0.0, None)
    told = outcomes(found(case, gates(rehearsal)))
    assert (told["graphs"], told["minutes"], told["memory"]) == (None, True, None)


@pytest.mark.parametrize("change", [{"accuracy": 0.9}, {"log_loss": 0.5}])
def test_scores_of_a_first_pass_that_are_others_stop_all(case, change):
    last = found(case, gates(**change))[-1]
    assert (last.gate, last.passed) == ("first pass", False)
    assert "the arithmetic on this machine is different" in last.sentence


def test_some_rows_are_not_compared_with_scores_of_all(case):
    limited = replace(case, source=Limited(case.source, train=40, test=3))
    assert outcomes(found(limited, gates(accuracy=0.9)))["first pass"] is None


def test_digits_in_place_of_images_stop_all():
    seen = found(Case(DigitsAsCifar10(), ()), gates())
    assert outcomes(seen) == {"kernels": None, "data": False}


def test_a_method_that_cannot_be_rehearsed_is_not(case):
    assert "minutes" not in outcomes(found(case, gates(), Marginal()))


PASSING, FAILING = "def test_it(): pass", "def test_it(): assert 0, 'unequal bits'"
SKIPPED = "import pytest\ndef test_it(): pytest.skip('no CuPy')"


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "passed", "words"),
    [
        (PASSING, True, "1 passed"),
        (FAILING, False, "unequal bits"),
        (SKIPPED, False, "1 skipped"),
        ("", False, "no test"),
    ],
)
def test_tests_on_the_device_must_be_carried_out_and_pass(text, passed, words, tmp_path):
    marked = f"import pytest\npytestmark = pytest.mark.gpu\n{text}\n"
    (tmp_path / "test_kernels.py").write_text(marked)
    verdict = module._tests(str(tmp_path), torch.device("cuda"))
    assert verdict.passed is passed
    assert words in verdict.sentence


def test_the_declared_gates_are_those_of_the_long_fit(project):
    assert (project / RENTED.tests / "test_straight.py").is_file()
    known = RENTED.first_pass
    assert (RENTED.minutes, known.test_rows) == (25, 2000)
    table = project / "docs" / "bundle" / "message_passing" / "message_passing_first_pass.csv"
    with table.open() as file:
        seeds = [row for row in csv.DictReader(file) if row["device"] == "CPU"]
    assert len(seeds) == 3
    for name, within in (
        ("accuracy", known.accuracy_within),
        ("log_loss", known.log_loss_within),
    ):
        scores = [float(row[name]) for row in seeds]
        assert getattr(known, name) == pytest.approx(mean(scores), abs=6e-4)
        assert within == pytest.approx(3 * stdev(scores), abs=6e-3)
    larger = SUITES["paper"].methods["MP, larger means"]
    assert isinstance(larger, MessagePassing)
    assert known.method == replace(larger, iterations=(1,))
    assert all(isinstance(SUITES["paper"].methods[m], RENTED.rehearsed) for m in RENTED.methods)

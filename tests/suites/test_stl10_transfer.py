"""The suite of transfer to STL-10, with files in the official layout and without them."""

from dataclasses import replace

import numpy as np
import pytest

from bnnbench.datasets.base import Dataset
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.transfer import Transfer
from bnnbench.datasets.official import stl10
from bnnbench.datasets.stand_ins import DigitsAsCifar10
from bnnbench.engine.records.record_json import from_json
from bnnbench.methods.marginal import Marginal
from bnnbench.reports.papers.published import table
from bnnbench.suites.stl10_transfer import SUITES
from tests.datasets.test_formats import put
from tests.suites.commands import call

QUICK = SUITES["quick"]


class Official(DigitsAsCifar10):
    """Digits in place of the real images, labelled like CIFAR-10."""

    @property
    def origin(self):
        return "original"


@pytest.fixture
def written(folder, monkeypatch):
    """A test part of STL-10 on disk: 20 images, two per class, including monkeys."""
    images = np.random.default_rng(1).integers(256, size=(20, 96, 96, 3), dtype=np.uint8)
    pixels = put(folder, "stl10_binary/test_X.bin", images.transpose(0, 3, 2, 1).tobytes())
    labels = put(folder, "stl10_binary/test_y.bin", bytes([*range(1, 11)] * 2))
    monkeypatch.setitem(stl10.FILES, "test", (pixels, labels))


def shown(condition: Transfer, dataset: Dataset) -> list[int]:
    return condition.select(dataset).targets.tolist()


@pytest.mark.usefixtures("written")
def test_nine_classes_are_asked_for_and_ten_where_monkeys_count_as_frogs():
    dataset = Official().load(0)
    clean, nine, ten = (e.condition for e in SUITES["paper"].evaluations)
    assert clean == Clean()
    assert isinstance(nine, Transfer)
    assert isinstance(ten, Transfer)
    assert sorted(set(shown(nine, dataset))) == [0, 1, 2, 3, 4, 5, 7, 8, 9]
    assert len(shown(nine, dataset)) == 18
    assert shown(ten, dataset).count(6) == 2
    assert nine.origin(dataset) == ten.origin(dataset) == "original"


@pytest.mark.usefixtures("written")
def test_probabilities_stay_those_of_ten_classes(tmp_path):
    suite = replace(
        QUICK, cases=(QUICK.cases[0].on(Official()),), methods={"Frequency": Marginal()}, seeds=1
    )
    answer = call(tmp_path, "--no-report", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    (record,) = (from_json(p.read_text()) for p in tmp_path.glob("stl10_transfer/runs/*/*.json"))
    assert set(record.outcome.scores) == {"clean", "transfer_stl10", "transfer_stl10_with_monkeys"}
    _, labels = Official().images("train")
    frequency = np.bincount(labels, minlength=10) / len(labels)
    asked = [0, 2, 1, 3, 4, 5, 7, 8, 9]
    expected = -np.log(frequency[asked]).mean()
    assert record.outcome.scores["transfer_stl10"]["nll"] == pytest.approx(expected, rel=0.01)
    expected = -np.log(frequency[[*asked, 6]]).mean()
    assert record.outcome.scores["transfer_stl10_with_monkeys"]["nll"] == pytest.approx(
        expected, rel=0.01
    )
    assert record.circumstances.condition_origins["transfer_stl10"] == "original"


def test_real_images_are_not_asked_of_digits(folder, tmp_path):
    suite = replace(QUICK, cases=(QUICK.cases[0].on(Official()),))
    answer = call(tmp_path, "--offline", "--no-report", suite=suite)
    assert answer.code == 2
    assert "the data to test on are missing" in answer.errors
    assert "--data stand-in" in answer.errors


@pytest.mark.long
def test_with_stand_ins_every_method_is_scored_on_both(tmp_path):
    suite = replace(QUICK, seeds=1)
    answer = call(tmp_path, "--data", "stand-in", "--limit", "30", "--no-report", suite=suite)
    assert answer.code == 0, answer.output + answer.errors
    assert "STAND-IN DATA" in answer.output
    for path in tmp_path.glob("stl10_transfer/runs/*/record.json"):
        assert set(from_json(path.read_text()).outcome.scores) == {
            "clean",
            "transfer_digits_as_cifar10",
        }


def test_every_printed_number_has_a_method_a_network_and_a_condition_of_ours():
    papers = [suite for name, suite in SUITES.items() if name.startswith("paper")]
    for suite in papers:
        (entry,) = suite.reproduces
        names = {e.condition.name for e in suite.evaluations}
        for printed in table(entry.paper, entry.table):
            assert printed.condition in names
            assert printed.dataset in {case.name for case in suite.cases}
            assert printed.method in {label.casefold() for label in suite.methods}
    assert len({suite.architecture_for(suite.cases[0], "SWAG") for suite in papers}) == 3

"""Facts that a page states about its data."""

import pytest

from bnnbench.commands.report import main
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.facts import data_facts
from bnnbench.reports.read.health import findings
from tests.reports.synthetic import keep, record

SOUND = {
    "train_rows": 90,
    "test_rows": 10,
    "features": 13,
    "test_twins_in_train": 0.0,
    "test_twins": 0,
    "train_repeats": 0,
    "constant_columns": [],
    "largest_input_deviation_train": 4.0,
    "largest_input_deviation_test": 4.5,
    "transforms": ["inputs: halved", "targets: doubled"],
    "files": {"a/b.txt": "sha256:" + "0" * 64, "a/c.txt": "md5:" + "1" * 32},
    "download_bytes": 170_498_071,
    "sha256": "f" * 64,
    "licence": "CC BY 4.0",
}


def test_sound_data_need_no_word():
    assert findings([SOUND, SOUND]) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"test_twins": 3, "test_twins_in_train": 0.3}, "3 of 10 test rows have an exact twin"),
        ({"train_repeats": 12}, "12 training rows repeat an earlier one"),
        ({"constant_columns": [8, 11]}, "2 of 13 inputs never change in training: 8, 11"),
        ({"largest_input_deviation_test": 33.3}, "33.3 training standard deviations from the mean"),
    ],
)
def test_what_is_wrong_is_said(changes, said):
    (found,) = findings([SOUND | changes])
    assert said in found


def test_folds_are_summed_up_in_a_range():
    several = [SOUND | {"test_twins": n, "constant_columns": [8] * (n > 2)} for n in (0, 2, 5)]
    twins, constant = findings(several)
    assert twins.startswith("0 to 5 of 10 test rows")
    assert constant == "0 to 1 of 13 inputs never change in training"


def test_older_records_tell_the_share_alone():
    older = {k: v for k, v in SOUND.items() if k not in ("test_twins", "train_repeats")}
    assert findings([older]) == []
    (found,) = findings([older | {"test_twins_in_train": 0.2}])
    assert found.startswith("2 of 10 test rows")


def test_many_constant_inputs_are_not_listed():
    (found,) = findings([SOUND | {"features": 784, "constant_columns": list(range(67))}])
    assert found == "67 of 784 inputs never change in training"


def test_what_is_unknown_is_not_called_sound():
    (found,) = findings([{"train_rows": 3, "test_rows": 4}])
    assert found == "the records do not state features, test twins in train, constant columns"


@pytest.mark.parametrize("wrong", [None, "many", {}, 1.5])
def test_facts_of_wrong_types_break_nothing(wrong):
    assert findings([dict.fromkeys(SOUND, wrong)]) is not None
    (benchmark,) = benchmarks([record(facts=dict.fromkeys(SOUND, wrong))])
    assert data_facts(benchmark).title


def test_ranges_and_sizes_are_printed():
    facts = [SOUND | {"test_twins_in_train": share} for share in (0.0, 0.125)]
    (benchmark,) = benchmarks([record(fold=k, facts=f) for k, f in enumerate(facts)])
    shown = data_facts(benchmark)
    assert shown.facts["twins in train"] == "0.0 % to 12.5 %"
    assert shown.facts["download"] == "170 MB"
    assert shown.transforms == ("inputs: halved", "targets: doubled")
    assert shown.files == SOUND["files"]


def test_the_page_tells_sound_data_from_others(tmp_path):
    sets = {"sound": SOUND, "odd": SOUND | {"test_twins": 3, "transforms": ["<b>bold</b>"]}}
    runs = [record(dataset=name, suite="uci", facts=facts) for name, facts in sets.items()]
    keep(tmp_path / "uci", runs)
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "uci" / "report.html").read_text()
    assert "<li>odd: 3 of 10 test rows have an exact twin in training.</li>" in page
    assert (
        "sound: no test row is also a training row, no training row occurs twice, and no input"
        in page
    )
    assert "<div>inputs: halved</div><div>targets: doubled</div>" in page
    assert f"a/b.txt <code>sha256:{'0' * 64}</code>" in page
    assert "<b>bold" not in page


def test_repeats_that_are_unknown_are_not_denied(tmp_path):
    older = {k: v for k, v in SOUND.items() if k not in ("test_twins", "train_repeats")}
    keep(tmp_path / "uci", [record(suite="uci", facts=older)])
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "uci" / "report.html").read_text()
    assert "no test row is also a training row" in page
    assert "occurs twice" not in page

"""`bnnbench compare` from a file to a report, for numbers and for classes."""

import re
from typing import Any

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_diabetes, load_digits, load_wine

from bnnbench.commands.compare import main
from bnnbench.datasets.own.table import own_table
from bnnbench.engine.store.store import Store
from bnnbench.metrics import IMBALANCED
from bnnbench.suites.own import suites_of

SHORT = "(trials=1; blocks=1; lengths=(20,))"
"""A search of only two fits."""


@pytest.fixture
def folder(tmp_path, monkeypatch, warm_reports):
    monkeypatch.chdir(tmp_path)
    tables: dict[str, Any] = {"patients": load_diabetes, "wine": load_wine}
    for name, load in tables.items():
        load(as_frame=True).frame.to_csv(f"{name}.csv", index=False)
    return tmp_path


def records_of(folder):
    records = list(Store(folder / "results" / "own").records())
    assert {r.outcome.status for r in records} == {"completed"}
    assert {r.circumstances.origin for r in records} == {"own"}
    return records


def test_a_csv_of_numbers_becomes_a_report_that_ends_with_a_sentence(folder, capfd):
    methods = f"Training mean,AdamW{SHORT},PBP{SHORT}"
    options = ["--methods", methods, "--folds", "3", "--executor", "serial"]
    assert main(["patients.csv", "--target", "target", *options]) == 0
    scores = {}
    for record in records_of(folder):
        scores.setdefault(record.method, []).append(record.outcome.scores["clean"]["rmse"])
    mean, others = scores.pop("Training mean"), scores.values()
    assert len(others) == 2
    assert max(map(max, others)) < min(mean)
    last = capfd.readouterr().out.splitlines()[-1]
    assert re.fullmatch(r"For patients, by log likelihood.*RMSE, .*\.", last)
    assert "AdamW" in last
    assert "PBP" in last
    page = (folder / "results" / "own" / "report.html").read_text()
    assert f"<p>{last}</p>".replace("'", "&#39;") in page


def test_arrays_of_classes_become_a_report_with_scores_of_rare_classes(folder):
    inputs, labels = load_wine(return_X_y=True)
    np.savez("wines.npz", inputs=inputs, targets=np.array(["a", "b", "c"])[labels])
    options = ["--methods", f"Class frequency,AdamW{SHORT}", "--folds", "1", "--executor", "serial"]
    assert main(["wines.npz", *options]) == 0
    adamw, frequency = sorted(records_of(folder), key=lambda r: r.method)
    assert frequency.outcome.scores["clean"].keys() >= set(IMBALANCED)
    assert frequency.outcome.scores["clean"]["balanced_accuracy"] == pytest.approx(1 / 3)
    assert adamw.outcome.scores["clean"]["balanced_accuracy"] > 0.45


@pytest.mark.parametrize("file", ["patients.csv", "wine.csv"])
def test_the_quick_profile_is_a_part_of_all(folder, file):
    suites = suites_of(own_table(file, "target"))
    quick, all_ = suites["quick"].methods, suites["all"].methods
    assert len(quick) < len(all_)
    assert all(all_[label] == method for label, method in quick.items())


def test_mistakes_are_usage_errors(folder, capsys):
    assert main(["none.csv", "--target", "y"]) == 2
    assert "none.csv" in capsys.readouterr().err
    assert main(["wine.csv", "--target", "grape"]) == 2
    assert "no column 'grape'" in capsys.readouterr().err
    assert main(["wine.csv"]) == 2
    assert "--target" in capsys.readouterr().err
    assert not (folder / "results").exists()


def test_a_folder_of_images_becomes_a_report(folder, capsys):
    digits: Any = load_digits()
    for row in np.flatnonzero(digits.target < 2):
        place = folder / "digits" / str(digits.target[row]) / f"{row}.png"
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray((digits.images[row] * 15).astype(np.uint8)).save(place)
    assert main(["digits", "--target", "digit"]) == 2
    assert "omit --target" in capsys.readouterr().err
    options = ["--methods", f"Class frequency,AdamW{SHORT}", "--seeds", "1"]
    assert main(["digits", *options, "--executor", "serial"]) == 0
    adamw, frequency = sorted(records_of(folder), key=lambda r: r.method)
    assert frequency.outcome.scores["clean"]["balanced_accuracy"] == 0.5
    assert adamw.outcome.scores["clean"]["balanced_accuracy"] > 0.9

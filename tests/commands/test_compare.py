"""`bnnbench compare` from a file to a report, for numbers and for classes."""

import re
import shlex
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from sklearn.datasets import load_diabetes, load_digits, load_wine

from bnnbench.commands.compare import main
from bnnbench.commands.planning import within_limit
from bnnbench.commands.planning.pilot import Pilot, Rates
from bnnbench.commands.predict import main as predict
from bnnbench.datasets.base import Gaussian
from bnnbench.datasets.own.table import own_table
from bnnbench.engine.store.store import Store
from bnnbench.metrics import IMBALANCED
from bnnbench.suites import own
from bnnbench.suites.own import suites_of

SHORT = "(trials=1; blocks=1; lengths=(20,))"
"""A search of only two fits."""


@pytest.fixture
def pilots(monkeypatch):
    """Replace pilots by rates with which AdamW takes 0.2 s for a fit and a root of the rows.

    On 54 rows of five splits (44 are held in) that is 0.2 (5 T √44 + 5 √54) = 113, 60 or 34 s for
    16, 8 or 4 trials T, and 20 s for three splits. Returns the number of methods of each pilot.
    """
    counts = []

    def pilot(suite, device, executor, sandbox):
        counts.append(len(suite.methods))
        rates = {n: Rates((0.0, 0.0, 0.2 if n == "AdamW" else 0.0), 1e6) for n in suite.methods}
        return Pilot(rates, Gaussian(None))

    monkeypatch.setattr(within_limit, "pilot", pilot)
    return counts


@pytest.fixture
def few(folder, monkeypatch):
    """Make the quick profile a constant and a short search, for a table of 60 rows."""
    frame = load_diabetes(as_frame=True).frame
    frame.head(60).to_csv("few.csv", index=False)
    suite = suites_of(own_table("few.csv", "target"))["quick"]
    adamw: Any = suite.methods["AdamW"]
    methods = {
        "Training mean": suite.methods["Training mean"],
        "AdamW": replace(adamw, blocks=1, lengths=(4,)),
    }
    suites = {"quick": replace(suite, methods=methods)}
    monkeypatch.setattr(own, "suites_of", lambda *_: suites)
    return ["few.csv", "--target", "target", "--executor", "serial"]


@pytest.fixture
def folder(tmp_path, monkeypatch, warm_reports, pilots):
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
    assert max(map(np.mean, others)) < np.mean(mean)
    compared, _, saved = capfd.readouterr().out.partition("\nFitting ")
    (last,) = (line for line in compared.splitlines() if line.startswith("For patients"))
    assert re.fullmatch(r"For patients, by log likelihood.*RMSE, .*\.", last)
    assert "AdamW" in last
    assert "PBP" in last
    page = (folder / "results" / "own" / "report.html").read_text()
    assert f"<p>{last}</p>".replace("'", "&#39;") in page
    check_usage(saved, mean)


def check_usage(saved, rmse_of_mean):
    """Run the command and the lines of Python that say how to predict."""
    command, *lines = [line.strip() for line in saved.splitlines() if line.startswith("    ")]
    table = load_diabetes(as_frame=True).frame
    table.drop(columns="target").to_csv("rows.csv", index=False)
    assert predict(shlex.split(command)[2:]) == 0
    errors = pd.read_csv("predicted.csv")["mean"] - table["target"]
    assert np.sqrt(errors.pow(2).mean()) < min(rmse_of_mean)
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)
    assert names["model"].label in saved.splitlines()[0]
    assert names["model"].posterior.trials == {}


@pytest.mark.long
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


@pytest.mark.long
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


CUT = "Shortened to take 1 min (--minutes): 4 of 16 trials and 3 of 5 splits"


def test_a_plan_is_cut_to_its_limit_and_an_equal_command_continues_with_it(
    folder, few, pilots, capfd
):
    assert main([*few, "--minutes", "1", "--no-report"]) == 0
    assert CUT in capfd.readouterr().out
    runs = {r.key: r for r in records_of(folder)}
    done = {(r.method, r.fold, r.run["method"]["trials"]) for r in runs.values()}
    assert done == {(n, k, t) for n, t in (("Training mean", 16), ("AdamW", 4)) for k in range(3)}
    assert main([*few, "--minutes", "1"]) == 0
    assert {r.key for r in records_of(folder)} == set(runs)
    assert "6 finished earlier, 0 to do" in capfd.readouterr().out
    assert pilots == [2]
    assert CUT in (folder / "results" / "own" / "report.html").read_text()


def test_a_dry_run_estimates_by_a_pilot_and_keeps_nothing(folder, few, pilots, capfd):
    assert main([*few, "--dry-run"]) == 0
    told = capfd.readouterr().out
    assert "Estimated time with 1 worker: about 113 s" in told
    assert "unknown" not in told
    assert "Only the pilot was run, nothing was written (--dry-run)." in told
    assert not (folder / "results").exists()
    assert main([*few, "--dry-run", "--minutes", "1"]) == 0
    told = capfd.readouterr().out
    assert CUT in told
    assert "about 20 s" in told


def test_what_is_asked_for_is_not_cut(folder, few, pilots, capfd):
    asked = ["--methods", "Training mean,AdamW(trials=16)", "--folds", "5", "--minutes", "1"]
    assert main([*few, *asked, "--dry-run"]) == 0
    told = capfd.readouterr().out
    assert "10 runs: 10 to do" in told
    assert "more than --minutes allows" in told


@pytest.mark.parametrize(("head", "layers"), [("linear", [3]), ("7", [7, 3])])
def test_the_head_of_the_networks_is_that_of_the_command(folder, capfd, head, layers):
    options = ["--methods", f"AdamW{SHORT}", "--folds", "1", "--executor", "serial"]
    assert main(["wine.csv", "--target", "target", "--head", head, *options, "--no-report"]) == 0
    (record,) = records_of(folder)
    dense = [layer for layer in record.run["architecture"] if "outputs" in layer]
    assert [layer["outputs"] for layer in dense] == layers
    name = "wine, linear head" if head == "linear" else "wine, 7 hidden units"
    assert record.dataset == name
    assert name in capfd.readouterr().out


def test_a_head_excludes_images_and_other_networks(folder, capsys):
    with pytest.raises(SystemExit):
        main(["wine.csv", "--target", "target", "--head", "0"])
    with pytest.raises(SystemExit):
        main(["wine.csv", "--target", "target", "--head", "9", "--network", "a.py:net"])
    assert "--head or --network" in capsys.readouterr().err
    assert "Radial" in suites_of(own_table("wine.csv", "target"))["all"].methods
    assert "Radial" not in suites_of(own_table("wine.csv", "target"), 0)["all"].methods

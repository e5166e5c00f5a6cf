"""`bnnbench score`: an exported fold, predicted by another program, scored and reported."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.datasets import load_digits
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.metrics import accuracy_score, log_loss, root_mean_squared_error
from sklearn.naive_bayes import GaussianNB

from bnnbench.commands import repeat
from bnnbench.commands import store as stores
from bnnbench.commands.score import command
from bnnbench.datasets.export import export
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.records.record import newest
from bnnbench.engine.store.store import Store
from tests.records import changed
from tests.suites.small_store import tree
from tests.warm import python

ROOT = Path(__file__).resolve().parents[2]

FLAGS = ("--suite", "uci", "--dataset", "boston", "--data", "stand-in", "--offline")
"""The boston of this machine: scikit-learn's diabetes."""


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BNNBENCH_OFFLINE", "")


def bnnbench(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        python("-m", "bnnbench", *arguments),
        input=given,
        capture_output=True,
        text=True,
        timeout=300,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )


def predicted(folder: Path) -> pd.DataFrame:
    """Another program: a Gaussian process that uses only the exported files."""
    train, test = (pd.read_csv(folder / f"{part}.csv") for part in ("train", "test"))
    features = [name for name in train.columns if name.startswith("x")]
    mean, std = train[features].mean(), train[features].std()
    level, scale = train["target"].mean(), train["target"].std()
    process: Any = GaussianProcessRegressor(RBF(5.0) + WhiteKernel(0.5), optimizer=cast(Any, None))
    process.fit((train[features] - mean) / std, (train["target"] - level) / scale)
    means, stds = process.predict((test[features] - mean) / std, return_std=True)
    columns = {"row": test["row"], "mean": level + scale * means, "variance": (scale * stds) ** 2}
    return pd.DataFrame(columns)


@pytest.mark.long
def test_a_fold_predicted_elsewhere_stands_beside_runs_in_the_report(tmp_path):
    ran = bnnbench(
        *("uci", "--data", "stand-in", "--offline", "--datasets", "boston", "--folds", "3"),
        *("--methods", "AdamW", "--no-report", "--executor", "serial"),
    )
    assert ran.returncode == 0, ran.stderr
    tables = []
    for fold in range(3):
        exported = bnnbench("data", "export", "diabetes", "--fold", str(fold), "--out", f"f{fold}")
        assert exported.returncode == 0, exported.stderr
        tables.append(predicted(tmp_path / f"f{fold}").assign(fold=fold))
    said = ("--by", "Ada", "--code", "gp.py <b>", "--cost", "two seconds")
    told = bnnbench(
        *("score", "-", *FLAGS, "--method", "GP of sklearn", *said),
        given=pd.concat(tables).to_csv(index=False),
    )
    assert told.returncode == 0, told.stderr
    assert "External predictions: GP of sklearn, by Ada on " in told.stdout
    truth = [DiabetesAsUci().table(fold).test_targets for fold in range(3)]
    errors = [
        root_mean_squared_error(y, table["mean"]) for y, table in zip(truth, tables, strict=True)
    ]
    with open("results/uci/tables.csv") as file:
        cells = [c for c in csv.DictReader(file) if c["column"] == "rmse"]
    found = {c["method"]: float(c["mean"]) for c in cells if c["table"].endswith("test data")}
    assert found.keys() == {"AdamW", "GP of sklearn"}
    assert found["GP of sklearn"] == pytest.approx(np.mean(errors), rel=1e-6)
    page = Path("results/uci/report.html").read_text()
    assert "by Ada on " in page
    assert "code: gp.py &lt;b&gt;, cost: two seconds" in page
    assert "External predictions" in Path("results/uci/tables.md").read_text()
    check_records(tables, truth)


def check_records(tables: list[pd.DataFrame], truth: list[np.ndarray]) -> None:
    """Densities are SciPy's, the store is valid, and nothing claims to be repeatable."""
    store = Store(Path("results/uci"))
    records = [record for record in store.records() if record.external is not None]
    assert {record.fold for record in records} == {0, 1, 2}
    for record in records:
        table, y = tables[record.fold], truth[record.fold]
        density = scipy.stats.norm.logpdf(y, table["mean"], np.sqrt(table["variance"])).mean()
        assert record.outcome.scores["clean"]["log_likelihood"] == pytest.approx(density, rel=1e-6)
        assert record.external is not None
        assert record.external["by"] == "Ada"
        assert record.cost is None
    own = [record for record in store.records() if record.external is None]
    assert {r.circumstances.data_sha256 for r in own} == {
        r.circumstances.data_sha256 for r in records
    }
    assert stores.command(["verify", "--rescore", "results"]) == 0
    assert repeat.main([records[0].key]) == 2


def test_classes_score_as_with_scikit_learn_and_other_conditions_say_why_not(tmp_path, capsys):
    place = ("--suite", "cifar10", "--dataset", "cifar10", "--data", "stand-in", "--offline")
    assert command(["--export", "rows", *place]) == 0
    train, test = np.load("rows/train.npz"), np.load("rows/test.npz")
    assert "target" not in test
    flat = [part["inputs"][:, ::4, ::4, 0].reshape(-1, 64) / 255 for part in (train, test)]
    model = GaussianNB(var_smoothing=0.1).fit(flat[0][:300], train["target"][:300])
    probabilities = 0.9 * model.predict_proba(flat[1]) + 0.01
    np.savez("mine.npz", probabilities=probabilities, row=test["row"], seed=4)
    assert command(["mine.npz", *place, "--method", "Naive Bayes", "--no-report"]) == 0
    (record,) = Store(Path("results/cifar10")).records()
    labels = load_digits_labels()
    assert record.seed == 4
    assert record.outcome.scores["clean"]["nll"] == pytest.approx(log_loss(labels, probabilities))
    accuracy = accuracy_score(labels, probabilities.argmax(1))
    assert record.outcome.scores["clean"]["accuracy"] == pytest.approx(accuracy)
    assert record.outcome.scores.keys() == {"clean"}
    assert set(record.outcome.not_scored.values()) == {
        "no predictions for its inputs were provided"
    }
    assert stores.command(["verify", "--rescore", "results"]) == 0


def load_digits_labels() -> np.ndarray:
    digits: Any = load_digits()
    return digits.target[1437:]


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> Path:
    """The rows of fold 1."""
    folder = tmp_path_factory.mktemp("rows") / "fold"
    export(DiabetesAsUci(), 1, folder)
    return folder


@pytest.fixture
def handed_in(exported) -> pd.DataFrame:
    """Valid predictions for fold 1."""
    rows = pd.read_csv(exported / "test.csv")["row"]
    return pd.DataFrame({"row": rows, "mean": np.arange(len(rows)) + 100.0, "variance": 3000.0})


def score(table: pd.DataFrame, *flags: str, method: str = "Mine") -> int:
    table.to_csv("mine.csv", index=False)
    return command(["mine.csv", *FLAGS, "--method", method, "--no-report", *flags])


def test_the_digest_stands_in_for_names_of_rows(handed_in, exported):
    digest = json.loads((exported / "fold.json").read_text())["rows_sha256"]
    bare = handed_in.drop(columns="row")
    assert score(bare, "--fold", "1", "--rows-sha256", digest) == 0
    assert score(bare.assign(rows_sha256=digest), "--fold", "1") == 0
    assert score(handed_in, "--fold", "1") == 0
    (record,) = Store(Path("results/uci")).records()
    assert record.fold == 1


def test_predictions_of_a_method_replace_its_earlier_ones(handed_in, capsys):
    assert score(handed_in, "--fold", "1") == 0
    assert score(handed_in.assign(mean=150.0), "--fold", "1") == 0
    assert "1 scored, 1 of them again" in capsys.readouterr().out
    assert score(handed_in, "--fold", "1", "--seed", "1") == 0
    assert score(handed_in, "--fold", "1", method="Yours") == 0
    records = list(Store(Path("results/uci")).records())
    assert sorted((r.method, r.seed) for r in records) == [("Mine", 0), ("Mine", 1), ("Yours", 0)]


def test_a_run_of_the_same_label_stays_and_so_do_the_predictions(handed_in):
    assert score(handed_in, "--fold", "1") == 0
    (theirs,) = Store(Path("results/uci")).records()
    ours = changed(theirs, key="0", elsewhere=None)
    assert {record.key for record in newest([theirs, ours])} == {theirs.key, "0"}


FORMS = {
    "samples": lambda t: pd.concat(
        [t[["row"]].assign(draw=k, sample=t["mean"] + k) for k in range(-3, 4)]
    ).assign(draw=lambda one: one["draw"] + 3),
    "quantiles": lambda t: t[["row"]].assign(
        **{f"q{level}": scipy.stats.norm.ppf(level, t["mean"], 50) for level in (0.05, 0.5, 0.95)}
    ),
    "intervals": lambda t: t[["row"]].assign(low=t["mean"] - 90, high=t["mean"] + 90, level=0.9),
    "draws": lambda t: pd.concat([t.assign(draw=k, mean=t["mean"] + k) for k in range(3)]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_scored_in_original_units_and_kept_soundly(handed_in, form):
    assert score(FORMS[form](handed_in), "--fold", "1") == 0
    (record,) = Store(Path("results/uci")).records()
    scores, y = record.outcome.scores["clean"], DiabetesAsUci().table(1).test_targets
    mean = handed_in["mean"].to_numpy()
    if form == "samples":
        assert scores["rmse"] == pytest.approx(root_mean_squared_error(y, mean), rel=1e-6)
        assert "no log_prob" in record.outcome.unanswered["clean"]["log_likelihood"]
    elif form == "quantiles":
        low, high = (scipy.stats.norm.ppf(level, mean, 50) for level in (0.05, 0.95))
        assert scores["mpiw_90"] == pytest.approx((high - low).mean(), rel=1e-6)
        assert scores["picp_90"] == pytest.approx(((low <= y) & (y <= high)).mean())
        assert "pinball" in scores
    elif form == "intervals":
        assert scores["interval_coverage"] == pytest.approx((abs(y - mean) <= 90).mean())
        assert scores["interval_width"] == pytest.approx(180, rel=1e-6)
    else:
        assert scores["rmse"] == pytest.approx(root_mean_squared_error(y, mean + 1), rel=1e-6)
    assert stores.command(["verify", "--rescore", "results"]) == 0


BAD = {
    "other fold": (lambda t: t, ("--fold", "2"), r"than the rows of fold 2 .*: "
                   "they are for fold 1; give --fold 1"),
    "no such fold": (lambda t: t, ("--fold", "5"), "has folds 0 to 4 in the quick profile, not 5"),
    "order": (
        lambda t: t.iloc[::-1],
        (),
        "in another order: position 0 has row .*, but needs .*: put them",
    ),
    "missing": (lambda t: t.iloc[3:], (), r"3 of 44 test rows are missing \(0-.*: predict every"),
    "strange": (
        lambda t: pd.concat([t, t.iloc[:1].assign(row="77-00000000")]),
        (),
        r"1 rows are not test rows of fold 1 \(77-00000000\): leave them out",
    ),
    "twice": (lambda t: pd.concat([t, t]), (), "occurs twice: predict every row once"),
    "unnamed": (
        lambda t: t.drop(columns="row"),
        (),
        "order of the predictions is unknown: .*bnnbench data export diabetes --fold 1",
    ),
    "digest": (
        lambda t: t.drop(columns="row"),
        ("--rows-sha256", "ab" * 32),
        "rows with digest abababababab; the rows of fold 1 have .*: export the rows again",
    ),
    "nan": (lambda t: t.assign(mean=np.nan), (), "means at point 0 = nan .44 such values. is miss"),
    "variance": (lambda t: t.assign(variance=-1.0), (), "= -1 .* is negative: give variances"),
    "classes": (
        lambda t: t[["row"]].assign(p0=0.5, p1=0.5),
        (),
        "the data has a real-valued target, .*; the predictions are of classes",
    ),
    "overflow": (lambda t: t.assign(mean=1e300), (), "rmse is .* correct the predictions"),
    "two folds": (lambda t: t.assign(fold=1), ("--fold", "2"), "says fold 1, and the command line"),
    "suite": (lambda t: t, ("--suite", "uzi"), "'uzi' is not a suite"),
    "profile": (lambda t: t, ("--profile", "fast"), "no profile 'fast'; it has quick, paper"),
    "dataset": (lambda t: t, ("--dataset", "bostn"), "did you mean 'boston'"),
    "taken": (lambda t: t, ("--method", "adamw"), "name of a method of this program; give anoth"),
    "unprintable": (lambda t: t, ("--by", "a\nb"), "--by: give one line"),
    "nameless": (lambda t: t, ("--method", " "), "--method: give the method a name"),
    "learning": (
        lambda t: t,
        ("--suite", "active_learning"),
        "does not score predictions of a fixed set of test rows",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_scored_says_why_and_leaves_nothing(handed_in, capsys, case):
    change, flags, reason = BAD[case]
    sound = handed_in.assign(mean=1.0)
    assert score(sound, "--fold", "1") == 0
    before = tree(Path("results"))
    capsys.readouterr()
    fold = () if "--fold" in flags else ("--fold", "1")
    assert score(change(handed_in), *fold, *flags) == 2
    errors = capsys.readouterr().err
    assert errors.startswith("error: ")
    assert re.search(reason, errors), errors
    assert tree(Path("results")) == before


def test_one_bad_fold_of_several_keeps_all_out(handed_in, tmp_path, capsys):
    export(DiabetesAsUci(), 0, tmp_path / "zero")
    first = pd.read_csv(tmp_path / "zero" / "test.csv")[["row"]].assign(mean=1.0, variance=1.0)
    both = pd.concat([first.assign(fold=0), handed_in.iloc[::-1].assign(fold=1)])
    assert score(both) == 2
    assert "in another order" in capsys.readouterr().err
    assert not Path("results").exists()


def test_the_same_fold_in_two_files_is_refused(handed_in, capsys):
    Path("both").mkdir()
    for name in ("a.csv", "b.csv"):
        handed_in.assign(fold=1).to_csv(Path("both", name), index=False)
    assert command(["both", *FLAGS, "--method", "Mine"]) == 2
    assert "b.csv: fold 1 of seed 0 occurs twice: keep one" in capsys.readouterr().err
    assert not Path("results").exists()


def test_bad_files_are_refused_before_torch_is_imported(tmp_path):
    Path("bad.csv").write_text("row,mean,variance\na,1,-1\n")
    code = (
        "import sys; from bnnbench.commands.score import command\n"
        f"print(command(['bad.csv', *{FLAGS!r}, '--method', 'Mine']), 'torch' in sys.modules)"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "2 False\n"
    assert "bad.csv: variances at point 0 = -1 is negative" in told.stderr

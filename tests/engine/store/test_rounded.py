"""Files of rounded predictions beside a bundle, and the stores and pages that read them."""

from decimal import Decimal

import numpy as np
import pytest

from bnnbench.commands.bundle import main as bundle
from bnnbench.commands.report import main as report
from bnnbench.engine.run.score import score
from bnnbench.engine.store import rounded
from bnnbench.engine.store.store import CorruptRecord
from bnnbench.reports.read.bundles import read_bundle
from bnnbench.reports.read.predictions.frame import predictions as by_row
from docs.generate import finished_runs
from tests.reports.synthetic import keep, record, regressed, scored

METRICS = {"clean": ("rmse", "log_likelihood", "picp_90")}


def runs_with_predictions(folder):
    """Store runs of two methods on two folds of one table; return records and predictions."""
    rng = np.random.default_rng(0)
    records, predictions = [], {}
    for fold in range(2):
        targets = regressed(rng, 0.3, 0.3)[1]
        for method, error in (("AdamW", 0.3), ("IVON", 0.5)):
            prediction, _ = regressed(rng, error, error)
            made = {"clean": (prediction, targets)}
            run = record(
                *(method, "boston", fold),
                scores=scored(made, METRICS),
                suite="uci",
                profile="league",
                code_sha256=method,
            )
            records.append(run)
            predictions[run.key] = made
    keep(folder / "uci", records, predictions)
    return predictions


@pytest.fixture
def made(tmp_path):
    """The folder of a bundle with rounded predictions, and the whole predictions by key."""
    whole = runs_with_predictions(tmp_path / "results")
    asked = [str(tmp_path / "results"), "--out", str(tmp_path / "bundle"), "--earlier-code"]
    assert bundle([*asked, "--rounded"]) == 0
    return tmp_path / "bundle", whole


def test_a_bundle_has_predictions_whose_scores_are_those_of_its_records(made):
    folder, whole = made
    results = read_bundle(folder)["uci"]
    assert {run.key for run in results.records} == set(whole)
    for run in results.records:
        again = scored(results.store.predictions(run.key), METRICS)["clean"]
        assert again == pytest.approx(run.outcome.scores["clean"], rel=5e-4)


def test_a_run_that_was_made_again_has_no_rounded_predictions(made):
    folder, _ = made
    results = read_bundle(folder)["uci"]
    key = results.records[0].key
    later = rounded.RoundedStore(folder, (folder,), {key: "0" * 64})
    with pytest.raises(
        FileNotFoundError, match=rf"no rounded\.tar\.xz has the predictions of {key}"
    ):
        later.predictions(key)


def test_an_altered_file_is_found(made):
    folder, _ = made
    path = folder / rounded.NAME
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(CorruptRecord, match="get the file from the repository again"):
        rounded.read(folder)


def test_a_file_that_would_be_too_large_has_the_first_folds(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    runs = [record("AdamW", fold=fold, predictions_sha256=str(fold) * 64) for fold in range(3)]
    content = {run.key: rng.bytes(1000) for run in runs}
    monkeypatch.setattr(rounded, "MOST_BYTES", 2900)
    assert rounded.write(tmp_path, runs, lambda run: content[run.key]) == 2
    first = (tmp_path / rounded.NAME).read_bytes()
    assert len(first) <= 2900
    assert sorted(rounded.read(tmp_path).values()) == sorted(content[r.key] for r in runs[:2])
    rounded.write(tmp_path, runs[::-1], lambda run: content[run.key])
    assert (tmp_path / rounded.NAME).read_bytes() == first
    monkeypatch.setattr(rounded, "MOST_BYTES", 900)
    with pytest.raises(ValueError, match=r"0\.0009 MB; choose data sets by --datasets"):
        rounded.write(tmp_path, runs, lambda run: content[run.key])


def test_a_table_by_rows_has_the_coverage_of_the_records(made):
    folder, whole = made
    rows = by_row(folder, methods=["IVON"])
    assert set(rows["method"]) == {"IVON"}
    results = read_bundle(folder)["uci"]
    for run in (run for run in results.records if run.method == "IVON"):
        of_run = rows[rows["key"] == run.key]
        prediction, targets = whole[run.key]["clean"]
        np.testing.assert_allclose(of_run["target"], targets[:, 0])
        np.testing.assert_allclose(of_run["mean"], prediction.mean[:, 0], atol=1e-4)
        recorded = run.outcome.scores["clean"]
        assert of_run["cdf"].between(0.05, 0.95).mean() == pytest.approx(recorded["picp_90"])
        assert of_run["log_score"].mean() == pytest.approx(recorded["log_likelihood"], rel=5e-4)
    with pytest.raises(ValueError, match="has no predictions of these runs"):
        by_row(folder, datasets=["no such"])


@pytest.mark.long
def test_the_pages_of_a_bundle_show_them_and_say_that_they_are_rounded(made, tmp_path):
    folder, _ = made
    assert report([str(folder), "--out", str(tmp_path / "site")]) == 0
    page = (tmp_path / "site" / "uci" / "report.html").read_text()
    examples = next((tmp_path / "site" / "examples").glob("*.html")).read_text()
    assert "Calibration of quantiles" in page
    assert "No predictions of" not in page
    for text in (page, examples):
        assert "Predictions are rounded: every score computed from them keeps four digits." in text


@pytest.mark.long
def test_the_shipped_predictions_of_many_tables_give_the_scores_of_their_records():
    results = read_bundle(finished_runs.BUNDLE / "tables")["tables"]
    completed = [run for run in results.records if run.outcome.status == "completed"]
    assert len(rounded.read(finished_runs.BUNDLE / "tables")) == len(completed)
    assert (finished_runs.BUNDLE / "tables" / rounded.NAME).stat().st_size < 3e6
    for run in completed[::15]:
        for condition, held in results.store.predictions(run.key).items():
            exact = run.outcome.scores[condition]
            kept = score(*held, exact, run.circumstances.target).values
            assert {"rmse", "log_likelihood", "picp_90", "calibration_mae"} <= kept.keys()
            assert all(abs(kept[name] - exact[name]) <= half_a_unit(exact[name]) for name in kept)


def half_a_unit(value: float) -> float:
    """Return half a unit of the fourth significant digit, by decimal arithmetic."""
    return float(Decimal(5).scaleb(Decimal(value).adjusted() - 4)) if value else 1e-12

"""Input and output files of `bnnbench report`."""

import csv
import io
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from bnnbench.commands.report import main
from bnnbench.engine.store import bundles
from bnnbench.engine.store.inspection import stores
from bnnbench.reports.figures.evidence import FALSE_POSITIVE_RATES, roc
from bnnbench.reports.pages.exports.tables import latex, markdown, tidy
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.sections.condition_tables import condition_table
from bnnbench.reports.style.descriptions import call, differing, flatten
from bnnbench.reports.style.palette import styles
from tests.reports.synthetic import classified, detected, keep, record, runs_of

HOSTILE = ["<script>alert(1)</script>", '<img src=x onerror="alert(1)">', "a|b_c & 50% $x^2$ #~\\"]


def tables_of(records):
    (benchmark,) = benchmarks(records)
    return [("quick", condition_table(benchmark, "clean", list(benchmark.runs)))]


def test_every_suite_gets_its_files(tmp_path, capsys):
    keep(tmp_path / "cifar10", [record()])
    keep(tmp_path / "other", [record(suite="other")])
    assert main([str(tmp_path)]) == 0
    expected = {"report.html", "tables.md", "tables.tex", "tables.csv", "metrics.csv", "costs.csv"}
    for suite in ("cifar10", "other"):
        assert expected <= {path.name for path in (tmp_path / suite).iterdir()}
    assert "report.html" in capsys.readouterr().out


def test_a_place_that_cannot_hold_the_report_is_named(tmp_path, capsys):
    keep(tmp_path / "results" / "cifar10", [record()])
    (tmp_path / "file").write_text("no folder")
    assert main([str(tmp_path / "results"), "--out", str(tmp_path / "file")]) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


@pytest.mark.long
def test_out_leaves_the_results_untouched(tmp_path):
    keep(tmp_path / "results" / "cifar10", [record()])
    before = sorted(tmp_path.glob("results/**/*"))
    assert main([str(tmp_path / "results"), "--out", str(tmp_path / "site")]) == 0
    assert (tmp_path / "site" / "cifar10" / "report.html").is_file()
    assert sorted(tmp_path.glob("results/**/*")) == before


@pytest.mark.long
def test_the_same_results_give_the_same_bytes(tmp_path):
    rng = np.random.default_rng(0)
    runs = runs_of({"AdamW": [1.0, 2.0, 3.0], "SGD": [1.5, 2.0, 2.5]})
    keep(tmp_path / "s", runs, {run.key: {"clean": classified(rng, 1.0)} for run in runs})
    assert main([str(tmp_path), "--out", str(tmp_path / "a")]) == 0
    assert main([str(tmp_path), "--out", str(tmp_path / "b")]) == 0
    for name in (
        "report.html",
        "tables.md",
        "tables.tex",
        "tables.csv",
        "metrics.csv",
        "runs.csv",
    ):
        assert (tmp_path / "a/s" / name).read_bytes() == (tmp_path / "b/s" / name).read_bytes()


@pytest.mark.parametrize("make", [None, "empty", "foreign", "unfinished"])
def test_a_folder_without_results_is_named_in_the_error(tmp_path, capsys, make):
    folder = tmp_path / "results"
    if make:
        folder.mkdir()
    if make == "foreign":
        (folder / "photos" / "runs" / "2024").mkdir(parents=True)
    if make == "unfinished":
        (folder / "cifar10" / "runs").mkdir(parents=True)
    assert main([str(folder)]) == 2
    assert str(folder) in capsys.readouterr().err


def damage(path, how):
    record_file = path / "record.json"
    if how == "truncated":
        record_file.write_text(record_file.read_text()[:300])
    elif how == "binary":
        record_file.write_bytes(b"\xff\xfe\x00")
    elif how == "older":
        record_file.write_text(record_file.read_text().replace('"schema": 3', '"schema": 0'))
    elif how == "text for a number":
        text = record_file.read_text()
        record_file.write_text(text.replace('"nll": 1.0', '"nll": "<b>one</b>"'))
    elif how == "no record":
        record_file.unlink()
    elif how == "no scores":
        record_file.write_text(record_file.read_text().replace('"scores"', '"score"'))


@pytest.mark.parametrize(
    "how", ["truncated", "binary", "older", "text for a number", "no record", "no scores"]
)
def test_a_damaged_record_is_named_and_the_rest_reported(tmp_path, capsys, how):
    good, bad = record(seed=0), record(seed=1)
    store = keep(tmp_path / "cifar10", [good, bad])
    damage(store.runs / bad.key, how)
    assert main([str(tmp_path)]) == 3
    page = (tmp_path / "cifar10" / "report.html").read_text()
    assert bad.key in capsys.readouterr().err
    assert bad.key in page
    assert "could not be read" in page
    assert "AdamW" in page


def test_a_copied_run_is_named_and_counted_once(tmp_path, capsys):
    run = record()
    store = keep(tmp_path / "cifar10", [run])
    (store.runs / "notes.txt").write_text("no run")
    (store.runs / "copy").mkdir()
    (store.runs / "copy" / "record.json").write_bytes(
        (store.runs / run.key / "record.json").read_bytes()
    )
    assert main([str(tmp_path)]) == 3
    assert "copied folder" in capsys.readouterr().err
    assert "1 run," in (tmp_path / "cifar10" / "report.html").read_text()


def test_runs_without_predictions_are_no_damage(tmp_path):
    keep(tmp_path / "cifar10", runs_of({"AdamW": [1.0, 2.0]}))
    assert main([str(tmp_path)]) == 0
    assert "No predictions of 2 completed runs" in (tmp_path / "cifar10/report.html").read_text()


def test_damaged_predictions_are_named_and_the_scores_still_shown(tmp_path, capsys):
    rng = np.random.default_rng(0)
    runs = runs_of({"AdamW": [1.0, 2.0]})
    store = keep(tmp_path / "s", runs, {run.key: {"clean": classified(rng, 1.0)} for run in runs})
    path = store.runs / runs[0].key / "predictions.npz"
    path.write_bytes(path.read_bytes()[:500])
    assert main([str(tmp_path)]) == 3
    assert runs[0].key in capsys.readouterr().err
    page = (tmp_path / "s" / "report.html").read_text()
    assert "1.50" in page
    assert "1 of 2 runs" in page


def test_older_settings_under_the_same_name_are_counted_not_shown(tmp_path):
    late = {"finished": "2025-02-02T00:00:00+00:00"}
    runs = [record(), record(settings={"learning_rate": 9.0}, provenance=late)]
    keep(tmp_path / "s", runs)
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / "s" / "report.html").read_text()
    assert "1 older run" in page
    assert "9.0" in page


def test_the_csv_holds_every_cell_in_the_units_of_the_files():
    rows = list(csv.DictReader(io.StringIO(tidy(tables_of(runs_of({"AdamW": [0.5]}, "accuracy"))))))
    (accuracy,) = [row for row in rows if row["column"] == "accuracy"]
    assert float(accuracy["mean"]) == 0.5
    assert accuracy["standard_error"] == ""
    assert accuracy["unit"] == ""
    (memory,) = [row for row in rows if row["column"] == "peak_bytes"]
    assert (float(memory["mean"]), memory["unit"]) == (2.0**24, "bytes")
    (seconds,) = [row for row in rows if row["column"] == "fit_seconds"]
    assert (float(seconds["mean"]), seconds["unit"]) == (2.0, "s")


def test_markdown_and_latex_mark_the_best_and_print_percent():
    tables = tables_of(runs_of({"AdamW": [0.5, 0.5, 0.6], "SGD": [0.1, 0.2, 0.1]}, "accuracy"))
    assert "**53 ± 14** ●" in markdown(tables)
    assert "\\textbf{53 $\\pm$ 14}\\,$\\bullet$" in latex(tables)
    assert "| 13 ± 14 ↓ |" in markdown(tables)
    assert "13 $\\pm$ 14\\,$\\downarrow$" in latex(tables)


def test_the_csv_has_the_reason_of_every_state():
    records = runs_of({"AdamW": [0.5, 0.5, 0.6], "SGD": [0.1, 0.2, 0.1]}, "accuracy")
    records += runs_of({"C": [0.1] * 3}, "accuracy", diagnostics={"ignores_inputs": 1.0})
    rows = csv.DictReader(io.StringIO(tidy(tables_of(records))))
    found = {row["method"]: row for row in rows if row["column"] == "accuracy"}
    assert found["AdamW"]["state"] == "best"
    assert found["C"]["state"] == "not eligible: constant"
    worse = found["SGD"]
    assert (worse["state"], worse["witness"], worse["question"]) == ("worse", "AdamW", "new seeds")
    assert 0 < float(worse["adjusted_p"]) <= float(worse["level"]) == 0.05
    assert (float(worse["margin"]), worse["common_runs"], worse["freedom"]) == (0.005, "3", "2.0")
    half = float(worse["high"]) - float(worse["mean"])
    assert half == pytest.approx(float(worse["half_width"]))
    assert worse["replicates"] == "3"


def test_no_file_of_a_report_has_the_mark_of_earlier_ones(tmp_path):
    scores = {f"M{k}": [1 + k / 4 + s / 5 for s in range(3)] for k in range(4)}
    keep(tmp_path / "cifar10", runs_of(scores))
    assert main([str(tmp_path / "cifar10")]) == 0
    written = [p for p in (tmp_path / "cifar10").iterdir() if p.is_file()]
    assert len(written) > 5
    for path in written:
        assert "≈" not in path.read_text(encoding="utf-8"), path
        assert "approx" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("name", HOSTILE)
def test_a_markdown_row_keeps_its_columns_whatever_the_name(name):
    text = markdown(tables_of(runs_of({name: [1.0], "SGD": [2.0]})))
    rows = [line for line in text.splitlines() if line.startswith("|")]
    pipes = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert len(pipes) == 1
    assert "<script" not in text
    assert "<img" not in text


@pytest.mark.parametrize("name", HOSTILE)
def test_latex_leaves_no_special_character_unescaped(name):
    text = latex(tables_of(runs_of({name: [1.0], "SGD": [2.0]})))
    (line,) = [row for row in text.splitlines() if row.startswith(("<", "a", "\\textless"))]
    label = line.partition(" & ")[0]
    assert not re.search(r"(?<!\\)[$#%_^~&]", label.replace("\\&", ""))
    assert "<" not in label


def test_a_description_reads_as_the_call_that_makes_it():
    layer = {
        "type": "conv2d",
        "channels": 32,
        "kernel": [3, 3],
    }
    assert call(layer) == "Conv2d(channels=32, kernel=(3, 3))"
    ensemble = {"type": "m:Ensemble", "size": 5, "member": {"type": "m:AdamW", "epochs": 2}}
    assert flatten(ensemble) == {"size": "5", "member": "AdamW", "member.epochs": "2"}
    assert differing([{"a": 1, "b": 2}, {"a": 1, "b": 3}]) == ["b=2", "b=3"]


def test_known_methods_keep_their_look_whoever_stands_beside_them():
    few, many = styles(["IVON"]), styles(["IVON", *(f"method {i}" for i in range(30))])
    assert few["IVON"] == many["IVON"]
    assert len(set(many.values())) == len(many)


def test_the_area_under_the_curve_is_the_chance_of_ranking_right():
    rng = np.random.default_rng(0)
    inside, outside = rng.integers(0, 12, 300) / 12, rng.integers(3, 15, 200) / 12
    wins = (outside[:, None] > inside).mean() + 0.5 * (outside[:, None] == inside).mean()
    area = np.trapezoid(roc(inside, outside), FALSE_POSITIVE_RATES)
    assert area == pytest.approx(wins, abs=0.003)


def figures_of(tmp_path):
    rng = np.random.default_rng(0)
    scores = {"clean": {"nll": 1.0}, "ood_svhn": {"auroc_ood": 0.5}}
    runs = [record(m, seed=s, scores=scores) for m in (*HOSTILE, "AdamW") for s in range(2)]
    predictions = {
        run.key: {"clean": classified(rng, 1.0), "ood_svhn": detected(rng, 1.0, 1.0)}
        for run in runs
    }
    keep(tmp_path / "s", runs, predictions)
    assert main([str(tmp_path)]) == 0
    text = (tmp_path / "s/report.html").read_text()
    return re.findall(r'<svg viewBox="[^"]*" role="img".*?</svg>', text, re.DOTALL)


def test_figures_are_well_formed_described_and_share_no_id(tmp_path):
    figures = figures_of(tmp_path)
    assert len(figures) == 4 + 1 + 4 + 1 + 3  # reliability, ROC, histograms, risk, costs
    ids = []
    for figure in figures:
        root = ElementTree.fromstring(figure.replace("<svg ", '<svg xmlns:xlink="x" ', 1))
        assert root.get("role") == "img"
        assert len(root.get("aria-label", "")) > 40
        own = [e.get("id") for e in root.iter() if e.get("id")]
        assert set(re.findall(r"url\(#([^)]+)\)", figure)) <= set(own)
        assert set(re.findall(r'href="#([^"]+)"', figure)) <= set(own)
        assert "<text" in figure
        ids += own
    assert len(ids) == len(set(ids))


@pytest.mark.long
def test_the_command_works_without_the_hook_of_the_tests(tmp_path, project):
    keep(tmp_path / "cifar10", [record()])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "reports", str(tmp_path)],
        cwd=project, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "place", [".", "cifar10", "cifar10/runs", "cifar10/site", "link", "loop/x"]
)
def test_a_site_inside_a_store_is_refused(tmp_path, capsys, place):
    results = tmp_path / "results"
    keep(results / "cifar10", [record()])
    (results / "link").symlink_to("cifar10")
    (results / "loop").symlink_to(tmp_path / "results" / "cifar10")
    before = sorted(results.rglob("*"))
    assert main([str(results), "--out", str(results / place)]) == 2
    assert "runs of" in capsys.readouterr().err
    assert sorted(results.rglob("*")) == before


def test_a_site_inside_a_bundle_is_refused(tmp_path, capsys):
    bundles.write(tmp_path / "bundle" / "cifar10", [record()])
    for place in ("bundle", "bundle/site", "bundle/cifar10", "bundle/cifar10/site"):
        assert main([str(tmp_path / "bundle"), "--out", str(tmp_path / place)]) == 2
    assert len([*tmp_path.rglob("*")]) == 3


@pytest.mark.long
def test_a_site_beside_the_stores_is_no_store(tmp_path):
    keep(tmp_path / "cifar10", [record()])
    assert main([str(tmp_path), "--out", str(tmp_path / "site")]) == 0
    assert [store.folder.name for store in stores(tmp_path)] == ["cifar10"]

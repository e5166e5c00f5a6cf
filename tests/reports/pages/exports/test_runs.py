"""`bnnbench report export`: every score, for other tools."""

import importlib.util
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bnnbench.commands.report import main
from bnnbench.engine.store import bundles
from bnnbench.reports.read.load import read
from tests.reports.judge.summaries.test_tuning import a_run
from tests.reports.synthetic import keep, record, runs_of


def stores(tmp_path):
    scores = {"clean": {"nll": 1.0 / 3, "accuracy": math.inf}, "ood_svhn": {"auroc_ood": math.nan}}
    keep(
        tmp_path / "r" / "cifar10",
        [record(scores=scores), record("SGD", scores={}, status="failed")],
    )
    keep(
        tmp_path / "r" / "other",
        [
            record(suite="other"),
            record(suite="other", origin="subset", run={"source": {"type": "part"}}),
        ],
    )
    return tmp_path / "r"


@pytest.mark.parametrize("kind", ["csv", "latex", "pairs"])
def test_a_bundle_is_exported_as_the_store_that_it_was_made_of(kind, tmp_path):
    results = stores(tmp_path)
    records = read(results / "cifar10").records
    bundles.write(tmp_path / "bundle" / "cifar10", list(records))
    outs = [tmp_path / "of_store", tmp_path / "of_bundle"]
    for source, out in zip((results / "cifar10", tmp_path / "bundle"), outs, strict=True):
        assert main(["export", str(source), "--format", kind, "--out", str(out)]) == 0
    assert outs[0].read_bytes() == outs[1].read_bytes()
    assert main(["compare", str(results / "cifar10"), str(tmp_path / "bundle")]) == 0


def test_csv_holds_every_score_once_and_runs_without_any(tmp_path):
    out = tmp_path / "x" / "scores.csv"
    assert main(["export", str(stores(tmp_path)), "--format", "csv", "--out", str(out)]) == 0
    table = pd.read_csv(out)
    assert len(table) == 3 + 1 + 2
    (nll,) = table[(table.suite == "cifar10") & (table.metric == "nll")].value
    assert nll == 1.0 / 3
    (lost,) = table[table.status == "failed"].itertuples()
    assert math.isnan(lost.value)
    assert math.isinf(table[table.metric == "accuracy"].value.iloc[0])
    assert sorted(table[table.suite == "other"].origin) == ["original", "subset"]


def test_latex_holds_the_tables_of_all_suites(tmp_path):
    out = tmp_path / "all.tex"
    assert main(["export", str(stores(tmp_path)), "--format", "latex", "--out", str(out)]) == 0
    assert out.read_text().count("\\begin{tabular}") >= 3


def test_pairs_agree_with_the_paired_test_by_shaffer(tmp_path):
    rng = np.random.default_rng(0)
    rows = {"A": rng.normal(0, 1, 8), "B": rng.normal(2, 1, 8), "C": rng.normal(6, 1, 8)}
    keep(tmp_path / "r" / "cifar10", runs_of(rows))
    out = tmp_path / "pairs.csv"
    assert main(["export", str(tmp_path / "r"), "--format", "pairs", "--out", str(out)]) == 0
    table = pd.read_csv(out)
    assert list(zip(table.better, table.other, strict=True)) == [("A", "B"), ("A", "C"), ("B", "C")]
    raw = [
        stats.ttest_rel(rows[a], rows[b]).pvalue
        for a, b in zip(table.better, table.other, strict=True)
    ]
    assert list(table.p_value) == pytest.approx(raw)
    multiplied = np.maximum.accumulate(np.sort(raw) * [3, 1, 1])
    assert sorted(table.shaffer_p) == pytest.approx(np.minimum(1, multiplied).tolist())
    assert table.difference[0] == pytest.approx(rows["A"].mean() - rows["B"].mean())
    assert set(table.question) == {"new seeds"}


def test_trials_have_a_line_for_each_length_and_test_scores_at_the_best(tmp_path):
    run = a_run(0, 1, [[-2.0, -1.0], [-3.0, -4.0]], {0: 5.0, 1: 7.0}, 0)
    keep(tmp_path / "r" / run.suite, [run])
    out = tmp_path / "trials.csv"
    assert main(["export", str(tmp_path / "r"), "--format", "trials", "--out", str(out)]) == 0
    table = pd.read_csv(out)
    assert table.trial.tolist() == [0, 0, 1, 1]
    assert table.length.tolist() == [25, 50, 25, 50]
    assert table.chosen.tolist() == [0, 1, 0, 0]
    assert table.held_out_score.tolist() == [-2.0, -1.0, -3.0, -4.0]
    assert table.value.fillna(0).tolist() == [0, 5.0, 7.0, 0]
    assert set(table.metric.dropna()) == {"rmse"}
    assert table.settings[2] == '{"rate": 0.1}'


@pytest.mark.parametrize("text", ["rmse", "rmse=-1", "nonsense=1", "rmse=x%"])
def test_a_margin_that_is_none_is_refused(tmp_path, text, capsys):
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--margin", text])
    assert "--margin" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "text", "state"),
    [
        ([], "Practically equal means within 0.01 nats of NLL.", "worse"),
        (["--margin", "nll=10%"], "Practically equal means within 10 % of NLL.", "equal"),
        (["--margin", "nll=none"], "", "worse"),
    ],
)
def test_a_margin_of_the_command_line_is_used_and_printed(tmp_path, given, text, state):
    scores = [1.0, 1.1, 1.2, 1.3]
    gaps = [0.05, 0.051, 0.049, 0.05]
    rows = {"A": scores, "B": [s + g for s, g in zip(scores, gaps, strict=True)]}
    keep(tmp_path / "cifar10", runs_of(rows))
    assert main([str(tmp_path / "cifar10"), *given]) == 0
    written = (tmp_path / "cifar10" / "tables.md").read_text()
    assert text in written
    assert bool(text) is ("Practically equal" in written.partition("|")[2])
    table = pd.read_csv(tmp_path / "cifar10" / "tables.csv")
    assert set(table[(table.column == "nll") & (table.method == "B")].state) == {state}


def test_parquet_reads_back_as_the_csv_or_says_what_to_install(tmp_path, capsys):
    results, out = stores(tmp_path), tmp_path / "scores.parquet"
    code = main(["export", str(results), "--format", "parquet", "--out", str(out)])
    if importlib.util.find_spec("pyarrow") or importlib.util.find_spec("fastparquet"):
        assert code == 0
        assert len(pd.read_parquet(out)) == 6
    else:
        assert code == 2
        assert "pip install pyarrow" in capsys.readouterr().err
        assert not out.exists()


def test_a_damaged_run_is_named_and_the_rest_written(tmp_path, capsys):
    bad = record()
    store = keep(tmp_path / "r" / "s", [bad, record("SGD")])
    (store.runs / bad.key / "record.json").write_text("{")
    out = tmp_path / "scores.csv"
    assert main(["export", str(tmp_path / "r"), "--out", str(out)]) == 3
    assert bad.key in capsys.readouterr().err
    assert list(pd.read_csv(out).method) == ["SGD"]


def test_without_results_there_is_an_error(tmp_path, capsys):
    assert main(["export", str(tmp_path / "none"), "--out", str(tmp_path / "x.csv")]) == 2
    assert "is not a folder" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["compare", "export"])
def test_the_help_of_every_command_is_there(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert "results" in capsys.readouterr().out

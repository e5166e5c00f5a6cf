"""`bnnbench report export`: every score, for other tools."""

import importlib.util
import math

import pandas as pd
import pytest

from bnnbench.reports.write.cli import main
from tests.reports.synthetic import keep, record


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

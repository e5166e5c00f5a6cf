"""The commands and code of the page on saving and predicting, run as printed."""

import re
import shlex
import sys
from pathlib import Path

import pandas as pd
import pytest
from sklearn.datasets import load_diabetes

from bnnbench.__main__ import main

pytestmark = pytest.mark.long

PAGE = Path(__file__).resolve().parents[2] / "docs" / "saving_and_predicting.md"
SHORT = ["--methods", "AdamW(trials=1; blocks=1; lengths=(4,))", "--folds", "1", "--no-report"]


def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # before folders that earlier tests have left
    monkeypatch.delitem(sys.modules, "nets", raising=False)
    table = load_diabetes(as_frame=True).frame.rename(columns={"target": "price"}).head(60)
    table.to_csv("mine.csv", index=False)
    table.drop(columns="price").head(5).to_csv("rows.csv", index=False)
    names: dict[str, object] = {"__name__": "page"}
    kinds = []
    for kind, code in re.findall(r"```(\w+)\n(.*?)```", PAGE.read_text(), re.DOTALL):
        kinds.append(kind)
        if kind == "python":
            exec(compile(code, str(PAGE), "exec"), names)
            continue
        for command in code.splitlines():
            program, *arguments = shlex.split(command)
            assert program == "bnnbench"
            short = ["--executor", "serial", *SHORT] if arguments[0] == "compare" else []
            with pytest.raises(SystemExit) as ended:
                main([*arguments, *short])
            assert ended.value.code == 0
    assert kinds == ["sh", "python", "python", "python"]
    assert len(pd.read_csv("predicted.csv")) == 5

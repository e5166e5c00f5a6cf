"""The code on the page about custom networks, run as printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.datasets import load_diabetes

from bnnbench.engine.store.store import Store
from tests.warm import python

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "own_networks.md").read_text()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The networks of the page in a file in the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "nets.py").write_text(re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0])
    return tmp_path


@pytest.mark.long
def test_its_code_runs_from_top_to_bottom(folder):
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 5
    page = folder / "page.py"
    page.write_text("\n".join(blocks))
    finished = subprocess.run(
        [sys.executable, page], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert "torch.Size([100, 200, 10])" in finished.stdout


@pytest.mark.long
def test_its_commands_run(folder):
    load_diabetes(as_frame=True).frame.rename(columns={"target": "price"}).to_csv("mine.csv")
    arrays = next(b for b in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL) if "savez" in b)
    exec(arrays, {})
    blocks = re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL)
    commands = "".join(blocks).strip().splitlines()
    shorter = ["--folds", "1", "--seeds", "1", "--no-report"]
    few = [
        "--executor",
        "serial",
        "--methods",
        "Class frequency,AdamW(trials=1; blocks=1; lengths=(20,))",
    ]
    extras = ["--data", "stand-in"], ["--dry-run"], few
    for command, extra in zip(commands, extras, strict=True):
        name, *arguments = shlex.split(command)
        assert name == "bnnbench"
        finished = subprocess.run(
            python("-m", "bnnbench", *arguments, *extra, *shorter),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert finished.returncode == 0, finished.stdout + finished.stderr
    labels = {record.method for record in Store(folder / "results" / "uci").records()}
    assert labels == {"AdamW", "Ensemble", "MC dropout", "IVON"}
    records = [*Store(folder / "results" / "own").records()]
    facts = [record.circumstances.facts for record in records]
    assert {(f["train_rows"], f["test_rows"], f["features"]) for f in facts} == {(1600, 400, 128)}
    losses = {record.method: record.outcome.scores["clean"]["nll"] for record in records}
    assert losses.pop("Class frequency") > 1.03 * min(losses.values())

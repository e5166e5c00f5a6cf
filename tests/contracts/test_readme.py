"""The README's recipe, executed as it stands there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from bnnbench.methods.base import Method
from bnnbench.suites.engine.store.record import from_json

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The README's method in a file of its own, where Python finds it."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    (tmp_path / "nearest.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_recipe_is_a_method(recipe):
    from nearest import NearestNeighbours  # pyright: ignore[reportMissingImports] (the recipe writes it)

    assert isinstance(NearestNeighbours(), Method)


def test_the_recipe_takes_part_in_a_suite_and_shows_in_its_report(recipe):
    (label,) = re.findall(r"--methods adamw,(\S+)", README)
    command = [sys.executable, "-m", "bnnbench", "cifar10", "--data", "stand-in", "--limit", "150"]
    command += ["--seeds", "1", "--methods", f"class frequency,{label}", "--out", str(recipe)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        command, cwd=recipe, env=environment, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    results = recipe / "cifar10"
    records = [from_json(p.read_text()) for p in results.glob("runs/*/record.json")]
    name = label.rpartition(":")[2]
    accuracy = {r.method: r.scores["clean"]["accuracy"] for r in records}
    assert accuracy[name] > accuracy["Class frequency"] + 0.3  # digits are easy
    assert name in (results / "report.html").read_text()

"""The README is one screen with valid links and commands; the shortest recipe runs."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from bnnbench.__main__ import COMMANDS
from bnnbench.engine.records.record_json import from_json
from bnnbench.methods.base import Method
from bnnbench.suites import SUITES
from tests.warm import python

ROOT = Path(__file__).resolve().parent.parent.parent
README = (ROOT / "README.md").read_text()
PAGE = (ROOT / "docs" / "adding_a_method.md").read_text()


@pytest.fixture
def recipe(tmp_path, monkeypatch):
    """The page's first method in a separate file on Python's path."""
    code, *_ = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    (tmp_path / "nearest.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_recipe_is_a_method(recipe):
    from nearest import NearestNeighbours  # pyright: ignore[reportMissingImports] (the recipe writes it)

    assert isinstance(NearestNeighbours(), Method)


@pytest.mark.long
def test_the_recipe_takes_part_in_a_suite_and_shows_in_its_report(recipe):
    label, *_ = re.findall(r"--methods adamw,(\S+)", PAGE)
    command = python("-m", "bnnbench", "cifar10", "--data", "stand-in", "--limit", "150")
    command += ["--seeds", "1", "--methods", f"class frequency,{label}", "--out", str(recipe)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    finished = subprocess.run(
        command, cwd=recipe, env=environment, capture_output=True, text=True, timeout=300
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    results = recipe / "cifar10"
    records = [from_json(p.read_text()) for p in results.glob("runs/*/record.json")]
    name = label.rpartition(":")[2]
    accuracy = {r.method: r.outcome.scores["clean"]["accuracy"] for r in records}
    assert accuracy[name] > accuracy["Class frequency"] + 0.3  # digits are easy
    assert name in (results / "report.html").read_text()


def test_the_readme_is_one_screen():
    assert len(README.splitlines()) <= 60
    assert "make test" in README


def test_links_of_the_readme_lead_to_files():
    links = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(links) > 10
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_commands_of_the_readme_are_commands():
    named = set(re.findall(r"^bnnbench (\w+)", README, re.MULTILINE))
    assert named
    assert named <= COMMANDS.keys() | SUITES.keys()

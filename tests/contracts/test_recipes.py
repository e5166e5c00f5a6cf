"""Code and commands of the how-to pages, run as printed."""

import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

from bnnbench import suites
from bnnbench.__main__ import COMMANDS, OTHER_NAMES
from bnnbench.datasets.base import DataSource
from bnnbench.engine.records.record_json import from_json
from tests.warm import python

ROOT = Path(__file__).resolve().parent.parent.parent
SUITES = {"jitter:Jitter": ("cifar10", ["--limit", "200"]), "features:RandomFeatures": ("uci", [])}
"""Method of the page → a suite for it, with options that make it short."""


def blocks(page: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def folder(tmp_path):
    """The recipes in separate files."""
    _, jitter, features = blocks("adding_a_method.md")
    (tmp_path / "jitter.py").write_text(jitter)
    (tmp_path / "features.py").write_text(features)
    return tmp_path


def run(folder, *arguments):
    finished = subprocess.run(
        python("-m", "bnnbench", *arguments),
        cwd=folder, env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.mark.long
@pytest.mark.parametrize("method", SUITES)
def test_a_recipe_keeps_the_contract_and_learns(folder, method):
    path = method.replace(":", ".py:")
    run(folder, "check", path)
    suite, options = SUITES[method]
    short = ["--data", "stand-in", "--seeds", "1", "--folds", "1", "--no-report", *options]
    baseline = {"cifar10": "class frequency", "uci": "training mean"}[suite]
    run(folder, suite, "--methods", f"{baseline},{path}", "--out", "results", *short)
    files = (folder / "results" / suite).glob("runs/*/record.json")
    scores = {
        r.method: r.outcome.scores["clean"] for r in map(from_json, (p.read_text() for p in files))
    }
    name, metric = method.partition(":")[2], {"cifar10": "nll", "uci": "rmse"}[suite]
    ours, theirs = scores.pop(name)[metric], scores.popitem()[1][metric]
    assert ours < 0.9 * theirs


def test_the_source_of_the_page_on_data_is_one():
    (code,) = blocks("adding_data.md")
    names: dict = {"__name__": "diabetes"}
    exec(compile(code, "docs/adding_data.md", "exec"), names)
    source = names["Diabetes"]()
    assert isinstance(source, DataSource)
    fold = source.load(3)
    rows = len(fold.train), len(fold.test)
    assert sum(rows) == 442
    assert rows[1] == pytest.approx(44, abs=1)
    original = load_diabetes().target
    back = fold.target.mean + fold.target.std * fold.test.targets[:, 0].double().numpy()
    assert np.isin(np.round(back), original).all()


@pytest.mark.parametrize("page", ["choosing_a_method.md", "scoring_predictions.md"])
def test_the_code_of_a_page_runs(page):
    (code,) = blocks(page)
    exec(compile(code, f"docs/{page}", "exec"), {"__name__": "page"})


PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_commands_that_there_are(page):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    named = set(re.findall(r"^bnnbench (\w+)", text, re.MULTILINE))
    named |= set(re.findall(r"`bnnbench (\w+)[ `]", text)) - {"NAME"}
    assert named <= COMMANDS.keys() | OTHER_NAMES.keys() | suites.SUITES.keys()


def files_named_in(page):
    folders = "methods|suites|datasets|reports|metrics|tests|docs"
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(rf"`((?:{folders})/[\w/.]+)`", text)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_names_files_that_there_are(page):
    for path in files_named_in(page):
        assert (ROOT / path).exists(), path


def test_files_are_found_in_pages():
    assert sum(len(files_named_in(page)) for page in PAGES) > 10

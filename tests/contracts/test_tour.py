"""The code of the tour, run as printed."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


ROOT = Path(__file__).resolve().parent.parent.parent


def test_the_tour_runs_from_top_to_bottom(tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "tour.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == text.count("```python") >= 7
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    names: dict[str, object] = {"__name__": "tour"}
    for block in blocks:
        exec(compile(block, "docs/tour.md", "exec"), names)
    assert (tmp_path / "tour" / "cifar10" / "report.html").exists()


def test_the_tour_names_files_that_are_there():
    text = (ROOT / "docs" / "tour.md").read_text()
    paths = re.findall(r"`((?:methods|suites|datasets|reports)/[\w/.]+)`", text)
    assert paths
    for path in paths:
        assert (ROOT / path).exists(), path

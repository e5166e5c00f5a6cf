"""The page on Python and its notebook, run as printed."""

import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bnnbench.datasets.official.uci import Uci
from docs.generate.finished_runs import ROOT

pytestmark = pytest.mark.long
PAGE = ROOT / "docs" / "python.md"


def test_the_code_of_the_page_is_a_program(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "uci").is_dir()


NUMBER = r"-?\d+(?:\.\d+)?"


def words(text: str) -> list[str]:
    """Return the text between its numbers, without spaces, which depend on their widths."""
    return [re.sub(r"\s+", " ", part) for part in re.split(NUMBER, text)]


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(NUMBER, text)]


def test_the_notebook_runs_and_its_page_shows_it(tmp_path):
    if missing := Uci("boston").missing():
        pytest.skip(f"needs {', '.join(missing)}")
    nbformat = pytest.importorskip("nbformat", reason="needs the extra dev")
    from docs.generate import notebook

    stored: Any = nbformat.read(notebook.NOTEBOOK, as_version=4)
    text = notebook.PAGE.read_text(encoding="utf-8")
    assert notebook.page(stored) == text
    again = notebook.page(notebook.executed(stored, tmp_path))
    assert words(again) == words(text)
    np.testing.assert_allclose(numbers(again), numbers(text), rtol=0.05)
    assert os.listdir(tmp_path) == ["results"]

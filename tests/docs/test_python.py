"""The page on Python and its notebook, run as printed."""

import os
import re
import subprocess
import sys
from typing import Any

import pytest

from docs.generate.finished_runs import ROOT

pytestmark = pytest.mark.long
PAGE = ROOT / "docs" / "python.md"


def test_the_code_of_the_page_is_a_program(tmp_path, data_folder):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    (tmp_path / "page.py").write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results" / "uci").is_dir()


def shape(text: str) -> str:
    """Return a text without its numbers and the spaces around them."""
    return re.sub(r"\s+", " ", re.sub(r"-?\d+(\.\d+)?", "0", text))


def test_the_notebook_runs_and_its_page_shows_it(tmp_path, data_folder):
    nbformat = pytest.importorskip("nbformat", reason="needs the extra dev")
    from docs.generate import notebook

    stored: Any = nbformat.read(notebook.NOTEBOOK, as_version=4)
    text = notebook.PAGE.read_text(encoding="utf-8")
    assert notebook.page(stored) == text
    assert shape(notebook.page(notebook.executed(stored, tmp_path))) == shape(text)
    assert os.listdir(tmp_path) == ["results"]

"""The code and the commands on the page about trained networks, run as printed."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from bnnbench.engine.store.store import Store
from tests.warm import python

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parent.parent.parent
TEXT = (ROOT / "docs" / "trained_networks.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which the page's code has run from top to bottom."""
    folder = tmp_path_factory.mktemp("page")
    (folder / "nets.py").write_text(BLOCKS[0])
    (folder / "page.py").write_text("\n".join(BLOCKS))
    finished = subprocess.run(
        [sys.executable, "page.py"], capture_output=True, text=True, check=False, cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    assert -1 < float(re.search(r"tensor\((-.*?)[,)]", finished.stdout)[1]) < 0
    return folder


def test_its_commands_run(folder, monkeypatch):
    monkeypatch.chdir(folder)
    commands = re.search(r"```sh\n(.*?)```", TEXT, re.DOTALL)[1].strip().splitlines()
    assert len(commands) == 2
    extras = ["--methods", "Given network,Temperature"], ["--dry-run"]
    for command, extra in zip(commands, extras, strict=True):
        name, *arguments = shlex.split(command)
        assert name == "bnnbench"
        finished = subprocess.run(
            python("-m", "bnnbench", *arguments, *extra, "--no-report", "--executor", "serial"),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert finished.returncode == 0, finished.stdout + finished.stderr
    scores = {r.method: r.outcome.scores for r in Store(Path("results/posthoc")).records()}
    given, treated = (scores[label]["clean"] for label in ("Given network", "Temperature"))
    assert treated["accuracy"] == given["accuracy"]
    assert treated["nll"] < given["nll"] + 0.02
    assert "ood_turned" in scores["Temperature"]
    assert len(BLOCKS) == 3

"""Reading, judging and laying out results needs neither torch nor numba."""

import subprocess
import sys

import pytest

CODE = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "numba"):
            raise ImportError(name)

sys.meta_path.insert(0, Refuse())
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
"""

LIGHT = (
    "bnnbench",
    "bnnbench.suites",
    "bnnbench.metrics",
    "bnnbench.reports.read.frames",
    "bnnbench.reports.read.benchmarks",
    "bnnbench.reports.judge.answers",
    "bnnbench.reports.papers.published",
    "bnnbench.reports.pages.exports.runs",
    "bnnbench.reports.pages.report.comparison",
    "bnnbench.reports.pages.report.content",
    "bnnbench.reports.pages.examples.pages",
    "bnnbench.engine.store.store",
    "bnnbench.commands.running.means",
    "bnnbench.commands.score",
    "bnnbench.engine.external.scoring",
)


def test_results_are_read_and_judged_without_torch_and_numba():
    """Only figures of stored predictions need torch; they import it when they are drawn."""
    command = [sys.executable, "-c", CODE, *LIGHT]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("name", ["torch", "numba"])
def test_the_guard_refuses(name):
    command = [sys.executable, "-c", CODE, name]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1

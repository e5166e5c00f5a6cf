"""The costs that ship with a version come from docs/bundle, and a dry run uses them."""

import subprocess

import pytest

from bnnbench.commands.planning.shipped_costs import TABLE
from docs.generate.finished_runs import ROOT
from docs.generate.shipped_costs import table
from tests.warm import python


@pytest.mark.long
def test_shipped_costs_agree_with_the_bundle():
    assert TABLE.read_text(encoding="utf-8") == table(), "run python -m docs.generate.shipped_costs"


@pytest.mark.long
def test_a_dry_run_of_a_new_user_knows_its_time(tmp_path):
    command = python("-m", "bnnbench", "uci_classification", "--dry-run")
    asked = [*command, "--datasets", "haberman", "--out", str(tmp_path)]
    answer = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    if "haberman: missing" not in answer.stdout and "left out" not in answer.stdout:
        lines = [x for x in answer.stdout.splitlines() if x.startswith("haberman ")]
        assert lines
        assert not [line for line in lines if "unknown" in line]
    assert not list(tmp_path.iterdir())

"""Mutants of records, predictions and leases: no tool crashes, and none is misread.

`BNNBENCH_MUTANTS=10000` takes that many; CI takes fewer. The separate process lacks the tests'
checks of shapes, which take most of the time and are not what is tested.
"""

import ast
import os
import subprocess
import sys

import pytest

from tests.faults.fuzz import BATCH

pytestmark = pytest.mark.long


MUTANTS = int(os.environ.get("BNNBENCH_MUTANTS", "500"))


def test_every_mutant_is_read_as_equal_or_named_as_damaged():
    command = [
        sys.executable,
        "-W",
        "ignore::RuntimeWarning",
        "-m",
        "tests.faults.fuzz",
        str(MUTANTS),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    tally = ast.literal_eval(answer.stdout[: answer.stdout.index("}") + 1])
    assert tally["equal"] > MUTANTS / 10
    assert tally["damaged"] > MUTANTS / 10
    assert tally["equal"] + tally["damaged"] == tally["mutants"] > MUTANTS - BATCH

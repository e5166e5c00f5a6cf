"""The descents of the quick profile complete on the stand-in digits, on each kind of processor."""

import os
import subprocess
import sys

import pytest

from bnnbench.engine.declare.description import describe
from bnnbench.engine.store.store import Store
from bnnbench.suites.cifar10.quick import ON_DIGITS, QUICK

DESCENTS = ("SGD", "SWA", "SWAG")


def test_runs_on_the_real_images_have_the_searched_settings():
    (case,) = QUICK.cases
    for label in DESCENTS:
        method = QUICK.method_for(case, label)
        assert describe(method) == describe(QUICK.methods[label]) != describe(ON_DIGITS[label])


@pytest.mark.long
@pytest.mark.parametrize("instructions", ["", "AVX2"])
def test_every_seed_completes_on_the_digits(tmp_path, instructions):
    command = [sys.executable, "-m", "bnnbench", "cifar10", "--methods", ",".join(DESCENTS)]
    options = ["--data", "stand-in", "--offline", "--no-report", "--out", str(tmp_path)]
    limited = {"ONEDNN_MAX_CPU_ISA": instructions, "ATEN_CPU_CAPABILITY": instructions.lower()}
    environment = os.environ | {"OMP_NUM_THREADS": "1"} | (limited if instructions else {})
    done = subprocess.run([*command, *options], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    records = list(Store(tmp_path / "cifar10").records())
    assert [r.outcome.status for r in records] == ["completed"] * 9
    assert min(r.outcome.scores["clean"]["accuracy"] for r in records) > 0.6

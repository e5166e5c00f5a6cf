"""Wall time, processor time, and the load by others."""

import os
import subprocess
import sys
import time

import pytest
import torch

from bnnbench.engine.run.measuring.stopwatch import stopwatch

CPU = torch.device("cpu")
BURN = "import time; end = time.process_time() + {}\nwhile time.process_time() < end: pass"


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_processor_seconds_include_this_process_and_ended_children():
    with stopwatch(CPU) as alone:
        burn(0.2)
        time.sleep(0.3)
    assert 0.2 <= alone.cpu_seconds < 0.3
    assert alone.seconds >= 0.5
    with stopwatch(CPU) as with_child:
        subprocess.run([sys.executable, "-c", BURN.format(0.3)], check=True)
    assert with_child.cpu_seconds >= 0.29  # systems count a child's time in hundredths of a second


@pytest.mark.skipif(sys.platform != "linux", reason="counts processors as Linux does")
def test_the_load_is_what_others_take():
    with subprocess.Popen([sys.executable, "-c", BURN.format(60)]) as other:
        try:
            time.sleep(0.2)
            with stopwatch(CPU) as watch:
                time.sleep(1.0)
        finally:
            other.kill()
    assert watch.busy_elsewhere is not None
    assert 0.5 / (os.cpu_count() or 1) < watch.busy_elsewhere <= 1.0


def test_the_load_of_short_blocks_is_not_known():
    with stopwatch(CPU) as watch:
        pass
    assert watch.busy_elsewhere is None

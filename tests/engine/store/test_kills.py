"""Driver and workers are killed at random moments, without effect on the final store.

Three moments by default; with BNNBENCH_KILLS=50 in the environment and `-s` it takes fifty, in ten
minutes, and prints the counts by kind.
"""

import os
import random
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from bnnbench.engine.records.record import Record
from bnnbench.engine.records.record_json import to_json
from bnnbench.engine.store.store import Store
from tests.engine.store.test_faults import alive, workers
from tests.records import changed
from tests.warm import process_of, python

pytestmark = pytest.mark.long


MOMENTS = int(os.environ.get("BNNBENCH_KILLS", "3"))
TIMEOUT = 300
RUNS = 40


def command(out: Path, executor: str) -> list[str]:
    """Return the arguments of a command."""
    start = ["-m", "tests.suites.forty", "--no-report", "--out", str(out)]
    return [*start, "--executor", executor, *(["--workers", "2"] if executor != "serial" else [])]


def content(out: Path) -> dict[str, tuple[str, bytes]]:
    """Return key → record without times and provenance, and predictions, of completed runs."""
    store = Store(out / "forty")
    done = [record for record in store.records() if record.outcome.status == "completed"]
    return {record.key: (essence(record), store.packed(record.key)) for record in done}


def essence(record: Record) -> str:
    return to_json(changed(record, cost=None, provenance={}))


def crew_of(driver: subprocess.Popen) -> list[int]:
    """Return the driver's live worker processes."""
    try:
        return [worker for worker in workers(process_of(driver)) if alive(worker)]
    except (FileNotFoundError, AssertionError):  # it has ended
        return []


def kill(driver: subprocess.Popen, rng: random.Random) -> str | None:
    """Kill the driver or one of its workers at a random moment; None if it ended before.

    Most moments are counted from the start of workers, since a driver takes seconds to start.
    """
    working = rng.random() < 0.9
    while working and driver.poll() is None and not crew_of(driver):
        time.sleep(0.05)
    time.sleep(rng.uniform(0, 5))
    if driver.poll() is not None:
        return None
    if (crew := crew_of(driver)) and rng.random() < 0.6:
        os.kill(rng.choice(crew), 9)
        return "worker"
    driver.kill()
    driver.wait()
    return "driver"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")
def test_killed_at_random_moments_a_suite_ends_as_if_undisturbed(tmp_path, project):
    quiet = {"cwd": project, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(python(*command(tmp_path / "serial", "serial")), check=True, **quiet)
    expected = content(tmp_path / "serial")
    assert len(expected) == RUNS
    rng = random.Random(0)
    killed: Counter[str] = Counter()
    stores = 0
    while killed.total() < MOMENTS:
        out = tmp_path / f"killed{stores}"
        stores += 1
        asked = command(out, "processes")
        code = None
        while code is None and killed.total() < MOMENTS:
            driver = subprocess.Popen(python(*asked), **quiet)
            while driver.poll() is None and killed.total() < MOMENTS:
                if victim := kill(driver, rng):
                    killed[victim] += 1
                    assert content(out).items() <= expected.items()
            code = None if driver.wait(TIMEOUT) < 0 else driver.returncode
        last = subprocess.run(
            python(*asked), timeout=TIMEOUT, **quiet
        )  # retries the runs that were killed twice
        assert last.returncode == 0
        assert content(out) == expected
        hidden = [p.name for p in (out / "forty" / "runs").iterdir() if p.name not in expected]
        assert all(name.startswith(".") for name in hidden)
        assert list((out / "forty" / ".claims").iterdir()) == []
    print(f"{killed.total()} kills ({dict(killed)}) of {stores} suites of {RUNS} runs: none lost")

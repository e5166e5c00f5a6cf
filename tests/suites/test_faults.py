"""Interruptions of every kind, in real processes: nothing finished is lost or repeated."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.suites.test_cli import call

TIMEOUT = 60


def command(out: Path, *flags: str) -> list[str]:
    start = [sys.executable, "-m", "tests.suites.miniature", "--no-report", "--out", str(out)]
    return [*start, "--profile", "paper", "--data", "auto", *flags]


def finished(out: Path) -> dict[str, int]:
    """Return key → time of the record, for every run that is visible."""
    runs = out / "miniature" / "runs"
    visible = [path for path in runs.glob("*") if not path.name.startswith(".")]
    return {path.name: (path / "record.json").stat().st_mtime_ns for path in visible}


def wait_for(out: Path, count: int) -> None:
    give_up = time.monotonic() + TIMEOUT
    while len(finished(out)) < count:
        assert time.monotonic() < give_up
        time.sleep(0.02)


def children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in path.read_text().split()]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def blocks(pid: int, number: signal.Signals) -> bool:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (mask,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigBlk"))
    return bool(mask >> (number - 1) & 1)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed")
    assert call(out, "--profile", "paper").code == 0
    return out


def same(one: Path, other: Path) -> None:
    """Check that two results are equal, but for times."""
    assert finished(one).keys() == finished(other).keys()
    for name in ("metrics.csv", *(f"runs/{key}/predictions.npz" for key in finished(one))):
        content = [(out / "miniature" / name).read_bytes() for out in (one, other)]
        assert content[0] == content[1]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")
def test_after_kill_9_the_same_command_goes_on_and_ends_as_if_undisturbed(
    tmp_path, project, undisturbed
):
    asked = command(tmp_path, "--executor", "processes", "--workers", "2")
    driver = subprocess.Popen(asked, cwd=project, stdout=subprocess.DEVNULL)
    wait_for(tmp_path, 1)
    workers = children(driver.pid)
    assert len(workers) >= 2
    driver.kill()
    driver.wait()
    before = finished(tmp_path)
    give_up = time.monotonic() + 10
    while any(alive(worker) for worker in workers):
        assert time.monotonic() < give_up, "workers outlive their driver"
        time.sleep(0.05)
    assert 1 <= len(before) < len(finished(undisturbed))
    again = subprocess.run(asked, cwd=project, capture_output=True, text=True, timeout=TIMEOUT)
    assert again.returncode == 0, again.stderr
    assert f"{len(before)} finished earlier" in again.stdout
    after = finished(tmp_path)
    assert {key: after[key] for key in before} == before
    same(tmp_path, undisturbed)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")
def test_ctrl_c_reaches_no_worker(tmp_path, project):
    """The tracker is the one child that is not a worker, and ignores Ctrl-C by itself."""
    asked = command(tmp_path, "--executor", "processes", "--workers", "2")
    with subprocess.Popen(asked, cwd=project, stdout=subprocess.DEVNULL) as driver:
        wait_for(tmp_path, 1)
        blocking = [blocks(child, signal.SIGINT) for child in children(driver.pid)]
        driver.kill()
    assert blocking.count(True) == 2


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path, project, undisturbed):
    asked = command(tmp_path, "--executor", "processes", "--workers", "2")
    driver = subprocess.Popen(
        asked,
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(tmp_path, 1)
    os.killpg(driver.pid, signal.SIGINT)  # as a terminal does: to workers as well
    output, errors = driver.communicate(timeout=TIMEOUT)
    assert driver.returncode == 130
    assert "Traceback" not in output + errors
    assert f"-m tests.suites.miniature --no-report --out {tmp_path}" in output
    before = finished(tmp_path)
    assert 1 <= len(before) < len(finished(undisturbed))
    assert call(tmp_path, "--profile", "paper").code == 0
    after = finished(tmp_path)
    assert {key: after[key] for key in before} == before
    same(tmp_path, undisturbed)


def test_a_truncated_record_is_named_and_its_removal_is_the_cure(tmp_path, project):
    assert call(tmp_path).code == 0
    place = next((tmp_path / "miniature" / "runs").iterdir())
    (place / "record.json").write_bytes((place / "record.json").read_bytes()[:200])
    damaged = call(tmp_path)
    assert damaged.code == 2
    assert f"remove {place} to run it again" in damaged.errors
    for file in place.iterdir():
        file.unlink()
    place.rmdir()
    cured = call(tmp_path)
    assert cured.code == 0
    assert "1 to do" in cured.output

"""Interruptions of every kind, in real processes: nothing finished is lost or repeated."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bnnbench.engine.store.store import Store
from bnnbench.engine.workers import NEEDS
from tests.suites.commands import call
from tests.warm import process_of, python

pytestmark = pytest.mark.long


TIMEOUT = 240


def command(out: Path, *flags: str) -> list[str]:
    """Return the arguments of a command."""
    start = ["-m", "tests.suites.miniature", "--no-report", "--out", str(out)]
    return [*start, "--profile", "paper", "--data", "auto", *flags]


def finished(out: Path) -> dict[str, int]:
    """Return key → time of the record, for every visible run."""
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


def workers(driver: int) -> list[int]:
    """Return the processes that a driver's server of workers has forked."""
    return [worker for server in children(driver) for worker in children(server)]


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
    """Check that two results are equal except for times."""
    assert finished(one).keys() == finished(other).keys()
    for name in ("metrics.csv", *(f"runs/{key}/predictions.npz" for key in finished(one))):
        content = [(out / "miniature" / name).read_bytes() for out in (one, other)]
        assert content[0] == content[1]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")
def test_after_kill_9_the_same_command_goes_on_and_ends_as_if_undisturbed(
    tmp_path, project, undisturbed
):
    asked = command(tmp_path, "--executor", "processes", "--workers", "2")
    start = [sys.executable, *asked]
    driver = subprocess.Popen(start, cwd=project, stdout=subprocess.DEVNULL)
    wait_for(tmp_path, 1)
    crew = workers(driver.pid)
    assert len(crew) >= 2
    driver.kill()
    driver.wait()
    assert list((tmp_path / "miniature" / ".claims").glob("*.claim"))
    before = finished(tmp_path)
    give_up = time.monotonic() + 10
    while any(alive(worker) for worker in crew):
        assert time.monotonic() < give_up, "workers outlive their driver"
        time.sleep(0.05)
    assert 1 <= len(before) < len(finished(undisturbed))
    again = subprocess.run(
        python(*asked), cwd=project, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert again.returncode == 0, again.stderr
    assert f"{len(before)} finished earlier" in again.stdout
    after = finished(tmp_path)
    assert {key: after[key] for key in before} == before
    same(tmp_path, undisturbed)
    assert list((tmp_path / "miniature" / ".claims").iterdir()) == []


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")
def test_ctrl_c_reaches_no_worker(tmp_path, project):
    asked = [sys.executable, *command(tmp_path, "--executor", "processes", "--workers", "2")]
    with subprocess.Popen(asked, cwd=project, stdout=subprocess.DEVNULL) as driver:
        wait_for(tmp_path, 1)
        blocking = [blocks(worker, signal.SIGINT) for worker in workers(driver.pid)]
        driver.kill()
    assert len(blocking) >= 2
    assert all(blocking)


def gone(processes: list[int]) -> None:
    """Check that processes end soon."""
    give_up = time.monotonic() + 20
    while any(alive(process) for process in processes):
        assert time.monotonic() < give_up, "processes outlive their driver"
        time.sleep(0.05)


def descendants(pid: int) -> list[int]:
    below = children(pid)
    return below + [each for child in below for each in descendants(child)]


def interrupted(out: Path, project: Path, number: signal.Signals, *flags: str) -> None:
    """Interrupt a suite in its middle, and check that the same command completes it."""
    asked = python(*command(out, *flags))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    driver = subprocess.Popen(asked, cwd=project, **pipes)
    wait_for(out, 1)
    process = process_of(driver)
    below = descendants(process)
    assert below
    if number == signal.SIGINT:
        os.killpg(process, number)  # as a terminal does: to workers as well
    else:
        driver.send_signal(number)
    output, errors = driver.communicate(timeout=TIMEOUT)
    assert driver.returncode == 128 + number, errors
    assert "bnnbench/engine" not in output + errors  # there is no traceback of ours
    assert f"-m tests.suites.miniature --no-report --out {out}" in output
    gone(below)
    assert list((out / "miniature" / ".claims").iterdir()) == []
    before = finished(out)
    assert call(out, "--profile", "paper").code == 0
    after = finished(out)
    assert len(before) < len(after)
    assert {key: after[key] for key in before} == before


PLACES = {
    "processes": (),
    "ray": ("--workers", "1"),
    "slurm": ("--address", "local", "--workers", "1"),
}
"""Executors, and conditions under which they have work left when the first run is finished."""


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes through /proc")
@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("processes", signal.SIGINT),
        ("processes", signal.SIGTERM),
        ("ray", signal.SIGTERM),
        ("slurm", signal.SIGINT),
    ],
)
def test_an_interrupt_keeps_what_is_finished_and_says_how_to_go_on(
    tmp_path, project, undisturbed, name, number
):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    flags = PLACES[name] or ("--workers", "2")
    interrupted(tmp_path, project, number, "--executor", name, *flags)
    same(tmp_path, undisturbed)


def test_two_drivers_do_every_run_once(tmp_path, project, undisturbed):
    asked = python(*command(tmp_path, "--executor", "processes", "--workers", "1"))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    drivers = [subprocess.Popen(asked, cwd=project, **pipes) for _ in range(2)]
    answers = [driver.communicate(timeout=TIMEOUT) for driver in drivers]
    assert [driver.returncode for driver in drivers] == [0, 0], answers
    same(tmp_path, undisturbed)
    lines = [line for output, _ in answers for line in output.splitlines()]
    done = [line.partition("] ")[2] for line in lines if "completed in" in line]
    assert len(done) == len(set(done)) == len(finished(undisturbed))


def test_a_driver_takes_over_from_one_that_is_killed(tmp_path, project, undisturbed):
    asked = python(*command(tmp_path, "--executor", "processes", "--workers", "2"))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    drivers = [subprocess.Popen(asked, cwd=project, **pipes) for _ in range(2)]
    wait_for(tmp_path, 1)
    drivers[0].kill()
    _, errors = drivers[1].communicate(timeout=TIMEOUT)
    drivers[0].communicate()
    assert drivers[1].returncode == 0, errors
    same(tmp_path, undisturbed)


ERRORS = {
    "Mean": None,
    "Endless": "ran longer than 5 s",
    "Killed": "the worker was killed by SIGKILL (out of memory?)",
    "Hungry": "needed more than 700 MiB of memory",
}


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="watches processes through /proc")
@pytest.mark.parametrize(
    ("name", "labels"),
    [("processes", list(ERRORS)), ("ray", list(ERRORS)), ("slurm", ["Mean", "Endless"])],
)
def test_only_the_run_that_is_killed_or_takes_too_much_fails(tmp_path, project, name, labels):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    start = python("-m", "tests.suites.troubled", "--no-report", "--out", str(tmp_path))
    flags = ["--executor", name, *PLACES[name], "--methods", ",".join(labels)]
    asked = [*start, *flags, "--timeout", "5", "--memory", "700M"]
    answer = subprocess.run(asked, cwd=project, capture_output=True, text=True, timeout=TIMEOUT)
    assert answer.returncode == 3, answer.stderr
    records = {record.method: record for record in Store(tmp_path / "troubled").records()}
    assert {label: record.outcome.error for label, record in records.items()} == {
        label: ERRORS[label] for label in labels
    }
    assert records["Mean"].outcome.status == "completed"


CLUSTER = """
from ray.cluster_utils import Cluster
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
other = cluster.add_node(num_cpus=1)
print(cluster.address, flush=True)
input()
cluster.remove_node(other, allow_graceful=False)
print("removed", flush=True)
input()
cluster.shutdown()
"""


def test_a_machine_of_a_ray_cluster_that_is_lost_loses_nothing(tmp_path, project, undisturbed):
    pytest.importorskip("ray")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", CLUSTER], cwd=project, **pipes) as cluster:
        address = cluster.stdout.readline().strip()
        asked = python(
            *command(tmp_path, "--executor", "ray", "--address", address, "--workers", "2")
        )
        driver = subprocess.Popen(asked, cwd=project, stdout=subprocess.PIPE, text=True)
        wait_for(tmp_path, 2)
        cluster.stdin.write("remove\n")
        cluster.stdin.flush()
        assert cluster.stdout.readline() == "removed\n"
        output, _ = driver.communicate(timeout=TIMEOUT)
        cluster.stdin.write("end\n")
    assert driver.returncode == 0, output
    assert "a worker of Ray was lost" in output
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

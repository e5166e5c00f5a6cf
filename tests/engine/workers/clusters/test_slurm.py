"""Slurm jobs: options, several runs in one job, and jobs that outlive their command."""

import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bnnbench.engine.store.store import Store
from bnnbench.engine.workers import Settings, on_this_machine, slurm_option
from bnnbench.engine.workers.base import ExecutorUnavailable, Lost, executor
from bnnbench.engine.workers.clusters import Parcel
from bnnbench.engine.workers.clusters.slurm import Job
from tests.engine.workers.test_workers import Witness, task
from tests.suites import fakes, slurm_stand_in
from tests.suites.commands import call
from tests.suites.fakes import Mean
from tests.warm import python

pytest.importorskip("submitit")

TIMEOUT = 240

MINE = """
from dataclasses import dataclass

from beside import fitted


@dataclass(frozen=True)
class Mine:
    def fit(self, problem, rng):
        return fitted(problem, rng)
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch) -> Path:
    """The folder of a stand-in for Slurm, with its commands on the path."""
    folder = tmp_path / "slurm"
    for name, value in slurm_stand_in.installed(folder).items():
        monkeypatch.setenv(name, value)
    return folder


class Suite:
    """Commands of the miniature suite on Slurm, and their results."""

    def __init__(self, out: Path) -> None:
        self.out = out

    def __call__(self, *flags: str) -> tuple[int, str]:
        answer = call(self.out, "--executor", "slurm", *flags)
        return answer.code, answer.output + answer.errors

    def records(self):
        return {record.key: record for record in Store(self.out / "miniature").records()}

    def wait_until(self, ready: Callable[[], bool]) -> None:
        give_up = time.monotonic() + TIMEOUT
        while not ready():
            assert time.monotonic() < give_up
            time.sleep(0.2)


@pytest.fixture
def suite(project, tmp_path, monkeypatch) -> Suite:
    monkeypatch.setenv("PYTHONPATH", str(project))
    monkeypatch.chdir(project)
    return Suite(tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "option"),
    [
        ("account=abc", ("account", "abc")),
        ("gres=gpu:a100:1", ("gres", "gpu:a100:1")),
        ("constraint=ib&gpu32", ("constraint", "ib&gpu32")),
        ("comment=a=b", ("comment", "a=b")),
        ("exclusive", ("exclusive", True)),
    ],
)
def test_an_option_is_a_name_of_sbatch_with_its_value(text, option):
    assert slurm_option(text) == option


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("--account=abc", "without its dashes"),
        ("account=", "without its dashes"),
        ("cpus_per_task=4", "without its dashes"),
        ("comment=a\n#SBATCH --qos=high", "without its dashes"),
        ("time=60", "use --minutes N"),
        ("partition=gpu", "use --partition NAME"),
        ("array=0-3", "cannot be changed"),
        ("cpus-per-task=many", "whole number"),
    ],
)
def test_what_is_no_option_is_said_with_the_reason(tmp_path, text, reason):
    answer = call(tmp_path, "--executor", "slurm", "--address", "local", f"--slurm={text}")
    assert answer.code == 2
    assert reason in answer.errors


def sbatch_lines(tmp_path, **settings: object) -> list[str]:
    from bnnbench.engine.workers.clusters.slurm import submitter

    made = submitter(Settings(**{"folder": tmp_path / "jobs"} | settings))
    text = made._executor._make_submission_file_text("command", "id")
    return [line.removeprefix("#SBATCH ") for line in text.splitlines() if "SBATCH" in line]


def test_options_reach_sbatch_once_and_win(tmp_path, slurm):
    plain = sbatch_lines(tmp_path)
    assert "--cpus-per-task=1" in plain
    assert not [line for line in plain if "gpu" in line]
    options = {"account": "abc", "gres": "gpu:a100:1", "cpus-per-task": "4", "exclusive": True}
    lines = sbatch_lines(tmp_path, options=options | {"job-name": "mine"}, partition="long")
    for line in ("--account=abc", "--gres=gpu:a100:1", "--exclusive", "--partition=long"):
        assert lines.count(line) == 1
    for name, line in (("cpus-per", "--cpus-per-task=4"), ("job-name", "--job-name=mine")):
        assert [each for each in lines if name in each] == [line]
    assert "--gpus-per-node=2" in sbatch_lines(tmp_path, gpus=2.0)


def test_a_gpu_is_asked_for_once_and_then_used(tmp_path):
    from tests.engine.workers.test_gpus import options

    chosen = options("--executor", "slurm", "--slurm", "gres=gpu:a100:1")
    assert (chosen.device, chosen.placement(9)[1].gpus) == ("cuda", 0.0)
    answer = call(tmp_path, "--executor", "slurm", "--slurm", "gpus-per-node=1", "--gpus", "1")
    assert "--gpus and --slurm both ask for GPUs" in answer.errors


def test_a_job_has_a_process_for_each_gpu_else_for_each_processor():
    settings = Settings(options={"cpus-per-task": "8"})
    assert on_this_machine(settings, "auto", lambda: 0).workers == 8
    job = on_this_machine(settings, "cuda", lambda: 2)
    assert (job.workers, job.devices) == (2, (0, 1))
    assert on_this_machine(settings, "cpu", lambda: 2).workers == 8


@pytest.mark.long
def test_a_job_that_is_put_into_the_queue_again_keeps_its_results():
    first, second = task(Mean()), task(Mean(), folds=(1, 2))
    job = Job(Settings(), [Parcel.of(first), Parcel.of(second)])
    earlier = Lost("of no matter here")
    job.results = [(first, earlier), (replace(second, runs=second.runs[:1]), earlier)]
    results = job.checkpoint().function()
    assert isinstance(results, list), results
    assert len(results) == 3
    assert [len(each.runs) for each, _ in results] == [1, 1, 1]
    assert results[2][0].runs == second.runs[1:]
    assert results[2][1][0].record.outcome.status == "completed"


@pytest.mark.long
def test_the_local_stand_in_packs_runs_and_finds_own_files(tmp_path, suite):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.py").write_text(MINE)
    (folder / "beside.py").write_text("from tests.suites.fakes import fitted\n")
    flags = ("--address", "local", "--slurm", "account=abc", "--slurm", "cpus-per-task=2")
    code, output = suite(
        *flags, "--runs-per-job", "6", "--methods", f"mean,together,{folder / 'mine.py'}:Mine"
    )
    assert code == 0, output
    assert "6 to do (Slurm, 1 at once)" in output
    assert "6 of 6 runs completed" in output
    assert {record.circumstances.provenance["device"] for record in suite.records().values()} == {
        "cpu"
    }


def test_tasks_of_one_job_come_back_as_what_they_were(tmp_path, slurm):
    """A run that kills its process costs the others of its job nothing."""
    tasks = [task(Mean()), task(fakes.Together(), folds=(1, 2))]
    killed = task(fakes.Dying(str(tmp_path / "deaths"), times=99))
    settings = Settings(workers=1, pack=9, folder=tmp_path / "jobs")
    witness = Witness()
    results = dict(executor("slurm", settings).map([tasks[0], killed, tasks[1]], witness))
    assert set(results) == {*tasks, killed}
    assert results[killed].reason.startswith("the worker was killed by SIGKILL")
    assert [o.record.outcome.status for each in tasks for o in results[each]] == ["completed"] * 3
    assert len(slurm_stand_in.scripts(slurm)) == 1


def test_what_slurm_refuses_is_said_in_its_words(tmp_path, slurm):
    settings = Settings(options={"account": "unknown"}, folder=tmp_path / "jobs")
    with pytest.raises(ExecutorUnavailable, match=r"Slurm refuses the jobs: .*Invalid account"):
        list(executor("slurm", settings).map([task(Mean())], Witness()))


def states(folder: Path) -> set[str]:
    return {path.read_text() for path in folder.glob("*.state")}


@pytest.mark.long
def test_detached_jobs_write_to_the_store_and_are_submitted_once(slurm, suite):
    flags = ("--detach", "--runs-per-job", "2")
    (slurm / "hold").touch()
    code, output = suite(*flags)
    assert code == 0, output
    assert "Submitted 4 runs in 2 jobs; you may log out." in output
    _, output = suite(*flags, "--folds", "3")
    assert "Submitted earlier: 4 runs to come (2 PENDING)" in output
    assert "Submitted 2 runs in 1 job; you may log out." in output
    assert suite.records() == {}
    (slurm / "hold").unlink()
    suite.wait_until(lambda: states(slurm) == {"COMPLETED"})
    code, output = suite(*flags, "--folds", "3")
    assert code == 0, output
    assert "6 of 6 runs completed" in output
    assert len(slurm_stand_in.scripts(slurm)) == 2
    assert not (suite.out / "miniature" / ".submitted").exists()


@pytest.mark.long
def test_what_a_lost_job_leaves_is_submitted_once_more_and_then_has_failed(slurm, suite):
    flags = ("--detach", "--methods", "mean", "--folds", "1")
    (slurm / "hold").touch()
    suite(*flags)
    cancel = str(slurm / "scancel")
    subprocess.run([cancel, "101"], check=True)
    _, output = suite(*flags)
    assert "job 101 ended as CANCELLED by 0: 1 run of it resubmitted" in output
    subprocess.run([cancel, "102"], check=True)
    code, output = suite(*flags)
    assert code == 3, output
    (record,) = suite.records().values()
    assert (record.outcome.status, record.outcome.error) == (
        "failed",
        "job 102 ended as CANCELLED by 0",
    )
    _, output = suite(*flags)
    assert "Submitted 1 run in 1 job" in output
    (slurm / "hold").unlink()
    suite.wait_until(lambda: "COMPLETED" in states(slurm))
    (record,) = suite.records().values()
    assert record.outcome.status == "completed"
    code, output = suite(*flags)
    assert code == 0
    assert "1 of 1 runs completed" in output


@pytest.mark.long
def test_the_local_stand_in_can_be_left_too(project, suite):
    flags = ("--detach", "--address", "local", "--methods", "mean", "--folds", "1")
    start = python("-m", "tests.suites.miniature", "--out", str(suite.out), "--no-report")
    submitting = [*start, "--executor", "slurm", *flags]
    first = subprocess.run(submitting, cwd=project, capture_output=True, text=True, check=True)
    assert "Submitted 1 run in 1 job; you may log out." in first.stdout
    outputs = []

    def collected() -> bool:
        outputs.append(suite(*flags)[1])
        return "1 of 1 runs completed" in outputs[-1]

    suite.wait_until(collected)
    assert not any("log out" in output for output in outputs)
    assert not (suite.out / "miniature" / ".submitted").exists()

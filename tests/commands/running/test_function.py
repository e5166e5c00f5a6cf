"""`bnnbench.run`: the command's runs and scores as a function, from any program."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pandas as pd
import psutil
import pytest
import torch

import bnnbench
from bnnbench.commands.running.function import RunsFailed, StandInData
from bnnbench.commands.running.running import Bar
from bnnbench.commands.suite import command
from bnnbench.engine.workers.base import ExecutorUnavailable
from bnnbench.methods.adamw import AdamW
from bnnbench.suites.uci import SUITES
from bnnbench.wording import UsageError

pytestmark = pytest.mark.filterwarnings("ignore::bnnbench.commands.running.function.StandInData")


@pytest.fixture
def small(tmp_path):
    """Return a function that runs methods on two folds of few rows, in this process."""

    def run(*methods, **changes):
        chosen = {"folds": 2, "workers": 0, "limit": 40, "data": "stand-in", "progress": False}
        return bnnbench.run(
            "uci", methods, "boston", **{**chosen, "out": tmp_path / "r", **changes}
        )

    return run


@pytest.mark.long
def test_it_returns_what_the_command_stores(small, tmp_path):
    scores = small("marginal", "map_estimate(epochs=2)", refit="missing")
    arguments = ["--methods", "marginal,map_estimate(epochs=2)", "--datasets", "boston"]
    arguments += ["--folds", "2", "--limit", "40", "--data", "stand-in", "--executor", "serial"]
    assert command(SUITES, [*arguments, "--no-report", "--out", str(tmp_path / "c")]) == 0
    pd.testing.assert_frame_equal(scores, bnnbench.results(tmp_path / "c"))
    pd.testing.assert_frame_equal(scores, bnnbench.results(tmp_path / "r"))
    again = small("marginal", folds=1)
    assert set(again["fold"]) == {0}
    assert set(again["method"]) == {"Training mean"}


def test_instances_have_the_labels_of_the_suite_or_of_their_class(small):
    scores = small(SUITES["quick"].methods["Training mean"], AdamW(epochs=1), folds=1)
    assert set(scores["method"]) == {"Training mean", "adamw (epochs=1)"}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"methods": "ivn"}, "methods: 'ivn' is unknown, did you mean 'ivon'"),
        ({"methods": "ivon(epoch=3)"}, "no setting 'epoch', did you mean 'epochs'"),
        ({"methods": [AdamW]}, "not a method|no method|instance"),
        ({"datasets": "bostn"}, "datasets: 'bostn' is not in the quick profile"),
        ({"profile": "quik"}, "profile 'quik' is unknown, did you mean 'quick'"),
        ({"folds": 0}, "folds: needs a whole number, 1 or more; got 0"),
        ({"workers": 10**6}, "workers: give a whole number"),
        ({"timeout": 1.0, "workers": 0}, "timeout"),
    ],
)
def test_mistakes_are_errors_that_name_arguments(changes, text, tmp_path):
    with pytest.raises(UsageError, match=text) as caught:
        bnnbench.run("uci", **{"out": tmp_path, **changes})
    assert "--" not in str(caught.value)
    assert not [*tmp_path.iterdir()]


def test_an_unknown_suite_is_named_with_the_nearest():
    with pytest.raises(UsageError, match="suite 'ucy' is unknown, did you mean 'uci'"):
        bnnbench.run("ucy")


def test_stand_in_data_are_warned_of(small):
    with pytest.warns(StandInData, match="diabetes: small real data"):
        small("marginal", folds=1)


def test_failed_runs_are_an_error_with_the_scores_of_the_others(small):
    with pytest.raises(
        RunsFailed, match=r"2 of 4 runs failed.*exact_linear on diabetes, fold .*Unsupported"
    ) as caught:
        small("marginal", "exact_linear")
    assert set(caught.value.scores["method"]) == {"Training mean"}


def test_an_interrupt_keeps_finished_runs(small, tmp_path, monkeypatch, capsys):
    def interrupt(bar, task, outcomes):
        raise KeyboardInterrupt

    monkeypatch.setattr(Bar, "finished", interrupt)
    with pytest.raises(KeyboardInterrupt):
        small("marginal", AdamW(epochs=1), progress=True)
    assert "Finished runs are in" in capsys.readouterr().err
    monkeypatch.undo()
    assert len(small("marginal", AdamW(epochs=1))["key"].unique()) == 4


def test_the_process_is_left_as_it_was(small, monkeypatch):
    monkeypatch.setenv("MINE", "yes")
    monkeypatch.delenv("BNNBENCH_OFFLINE", raising=False)
    threads, before = torch.get_num_threads(), dict(os.environ)
    torch.set_num_threads(2)
    try:
        small("marginal", folds=1, offline=True)
        assert (dict(os.environ), torch.get_num_threads()) == (before, 2)
    finally:
        torch.set_num_threads(threads)


@dataclass(frozen=True)
class InAScript:
    """A method that pretends to be defined in the started file."""

    def fit(self, problem, rng):
        return AdamW(epochs=1).fit(problem, rng)


def test_a_class_of_the_started_file_runs_in_this_process_alone(small, monkeypatch):
    monkeypatch.setattr(InAScript, "__module__", "__main__")
    monkeypatch.setattr(sys.modules["__main__"], "InAScript", InAScript, raising=False)
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", None)
    assert set(small(InAScript(), folds=1)["method"]) == {"InAScript"}
    with pytest.raises(ExecutorUnavailable, match=r"move it to a module.*workers=0"):
        small(InAScript(), folds=2, workers=1)


SCRIPT = """
import json
import bnnbench
print("started", flush=True)
scores = bnnbench.run("uci", ["marginal", "adamw(epochs={epochs})"], "boston", 2, data="stand-in",
                      limit=40, workers=2, out="r")
print(json.dumps([len(scores["key"].unique()), sorted(set(scores["method"]))]))
"""


@pytest.mark.long
@pytest.mark.parametrize("way", ["file", "input"])
def test_a_program_needs_no_guard(way, tmp_path):
    (tmp_path / "mine.py").write_text(SCRIPT.format(epochs=1))
    arguments = {"file": ["mine.py"], "input": ["-"]}[way]
    done = subprocess.run(
        [sys.executable, *arguments], cwd=tmp_path, input=(tmp_path / "mine.py").read_text(),
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    started, told = done.stdout.splitlines()
    assert (started, json.loads(told)) == ("started", [4, ["AdamW (epochs=1)", "Training mean"]])


@pytest.mark.long
def test_an_interrupted_program_leaves_no_process(tmp_path):
    text = SCRIPT.format(epochs=10**6)
    program = subprocess.Popen(
        [sys.executable, "-"], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    assert program.stdin
    program.stdin.write(text)
    program.stdin.close()
    give_up = time.monotonic() + 60
    while not (processes := psutil.Process(program.pid).children(recursive=True)[2:]):
        assert time.monotonic() < give_up
        time.sleep(0.05)
    while len([*tmp_path.rglob("record.json")]) < 2:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    program.send_signal(signal.SIGINT)
    program.stdin = None
    _, error = program.communicate(timeout=60)
    assert "Finished runs are in" in error
    assert "KeyboardInterrupt" in error
    _, alive = psutil.wait_procs(processes, timeout=30)
    assert not alive
    assert len(bnnbench.results(tmp_path / "r")["key"].unique()) == 2

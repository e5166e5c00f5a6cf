"""Usage errors are reported before anything runs."""

from dataclasses import replace

import pytest
import torch

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.grid import Evaluation
from tests.suites.commands import FAST, call


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--methods", "Maen"], "did you mean 'Mean'?"),
        (["--methods", "ivvon"], "did you mean 'ivon'?"),
        (["--methods", "nothing:Here"], "No module named 'nothing'"),
        (["--methods", "tests.suites.fakes:Absent"], "no class Absent"),
        (["--methods", "tests.suites.fakes:NeedsSettings"], "rate"),
        (["--methods", "tests.suites.fakes:Line"], "has no fit"),
        (["--methods", "mean,tests.suites.fakes:Mean"], "are the same method"),
        (["--methods", ","], "at least one name"),
        (["--datasets", "lime"], "did you mean 'line'?"),
        (["--seeds", "0"], "--seeds: needs a whole number from 1 to 100,000; got '0'"),
        (["--folds", "-1"], "--folds: needs a whole number"),
        (["--limit", "1.5"], "--limit: needs a whole number"),
        (["--workers", "0"], "--workers: needs a whole number, 1 or more"),
        (["--workers", "100000", "--executor", "processes"], "a whole number from 1 to"),
        (["--workers", "all"], "--workers: needs a whole number, 1 or more, or auto; got 'all'"),
        (["--device", "gpu"], "--device: needs auto, cpu, cuda or a GPU such as cuda:1; got 'gpu'"),
        (["--device", "cuda:x"], "got 'cuda:x'"),
        (["--workers", "2"], "the serial executor has one"),
        (["--profile", "medium"], "--profile"),
        (["--data", "fake"], "--data"),
        (["--prof", "quick"], "--prof"),
        (["--env", "laplace-torch"], "--env: needed NAME=path/to/python; got 'laplace-torch'"),
        (["--env", "laplace=/bin/sh"], "did you mean 'laplace-torch'?"),
        (["--env", "posteriors=/nowhere/python"], "pip install posteriors"),
        (["--env", "posteriors=/usr"], "/usr is a folder: give the interpreter in it"),
        (["surplus"], "surplus"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_usage_errors_exit_with_2_and_the_reason(tmp_path, flags, reason):
    answer = call(tmp_path, *flags)
    assert answer.code == 2
    assert reason in answer.errors
    assert not (tmp_path / "miniature").exists()


def test_cuda_without_cuda_is_a_usage_error(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    answer = call(tmp_path, "--device", "cuda")
    assert answer.code == 2
    assert "torch finds no CUDA device" in answer.errors
    assert call(tmp_path, "--device", "cuda:1").code == 2


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["ray", "--device", "cuda:1"], "names a GPU of this machine; on a cluster, use --gpus 1"),
        (["ray", "--device", "cpu", "--gpus", "0.5"], "would leave their GPUs idle"),
        (["slurm", "--device", "cuda", "--gpus", "0"], "workers need a GPU"),
        (["slurm", "--gpus", "0.5"], "Slurm allocates only whole GPUs"),
    ],
)
def test_devices_of_a_cluster_that_contradict_each_other_are_a_usage_error(tmp_path, flags, reason):
    answer = call(tmp_path, "--executor", *flags)
    assert answer.code == 2
    assert reason in answer.errors


def test_results_cannot_go_into_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    answer = call(tmp_path / "file")
    assert answer.code == 2
    assert "is a file" in answer.errors


def test_a_place_that_cannot_hold_results_is_named(tmp_path):
    (tmp_path / "miniature").write_text("a file")
    answer = call(tmp_path)
    assert answer.code == 2
    assert str(tmp_path / "miniature") in answer.errors
    assert "--out" in answer.errors


def test_a_metric_that_does_not_exist_is_named_before_anything_runs(tmp_path):
    suite = replace(FAST, evaluations=(Evaluation(Clean(), ("rsme",)),))
    answer = call(tmp_path, suite=suite)
    assert answer.code == 2
    assert "did you mean 'rmse'?" in answer.errors


def test_a_data_set_of_another_profile_is_said_to_be_there(tmp_path):
    answer = call(tmp_path, "--datasets", "elsewhere")
    assert answer.code == 2
    expected = "'elsewhere' is not in the quick profile, which has line; it is in paper (--profile)"
    assert expected in answer.errors


def test_a_method_of_another_profile_is_said_to_be_there(tmp_path):
    suite = replace(FAST, methods={"Mean": FAST.methods["Mean"]})
    answer = call(tmp_path, "--methods", "slow", suite=suite)
    assert answer.code == 2
    assert "'slow' is not in the quick profile; it is in paper (--profile)" in answer.errors

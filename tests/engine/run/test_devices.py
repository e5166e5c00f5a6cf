"""The device is chosen where the fit runs, and never silently replaced."""

import platform
from dataclasses import replace

import pytest
import torch

from bnnbench.engine.run.devices import NoSuchDevice, decided, used
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.outcomes import lost
from tests.engine.workers.test_workers import RUN, task
from tests.suites.fakes import Mean

NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")


def uncounted() -> int:
    raise AssertionError("GPUs are counted on behalf of the processor")


@pytest.mark.parametrize(
    ("name", "found", "device"),
    [
        ("auto", 0, "cpu"),
        ("auto", 2, "cuda"),
        ("cuda", 1, "cuda"),
        ("cuda:0", 1, "cuda:0"),
        ("cuda:1", 2, "cuda:1"),
    ],
)
def test_a_name_stands_for_a_device_that_is_here(name, found, device):
    assert decided(name, lambda: found) == torch.device(device)


def test_the_processor_asks_for_no_gpu():
    assert decided("cpu", uncounted) == torch.device("cpu")
    with used("cpu", uncounted) as device:
        assert device == torch.device("cpu")


@pytest.mark.parametrize(
    ("name", "found", "has"),
    [
        ("cuda", 0, "no CUDA device"),
        ("cuda:0", 0, "no CUDA device"),
        ("cuda:2", 2, "cuda:0, cuda:1"),
    ],
)
def test_a_device_that_is_not_here_is_named_with_the_machine(name, found, has):
    with pytest.raises(NoSuchDevice) as caught:
        decided(name, lambda: found)
    assert str(caught.value).startswith(f"--device {name}: torch finds {has} on {platform.node()};")


@NO_GPU
def test_a_fit_without_its_gpu_is_no_failure_of_the_method():
    with pytest.raises(NoSuchDevice):
        execute(replace(task(Mean()), device="cuda"))


def test_records_have_the_device_of_the_fit_and_keys_have_none():
    (named,) = execute(replace(task(Mean()), device="auto"))
    (plain,) = execute(task(Mean()))
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    assert named.record.circumstances.provenance["device"] == gpu
    assert plain.record.circumstances.provenance["device"] == "cpu"
    assert named.record.key == plain.record.key == RUN.key


def test_the_device_of_a_lost_process_is_known_for_the_processor_alone():
    for device, recorded in (("cpu", "cpu"), ("auto", "unknown"), ("cuda", "unknown")):
        (outcome,) = lost(replace(task(Mean()), device=device), "the worker was killed")
        assert outcome.record.circumstances.provenance["device"] == recorded

"""The command on a short GPU session ends in time, and its exit code says whether to repeat it."""

import importlib
import sys
import time

import pytest

from bnnbench.commands import short_gpu
from bnnbench.engine.declare.gates import Gates

WAITS = "import time\ntry:\n time.sleep(60)\nexcept KeyboardInterrupt:\n print('ended cleanly')"


def launched(monkeypatch, code: str) -> None:
    monkeypatch.setattr(short_gpu, "LAUNCH", (sys.executable, "-c", code))


@pytest.mark.parametrize("code", [0, 2, 3])
def test_a_suite_that_ends_in_time_gives_the_code(code, monkeypatch):
    launched(monkeypatch, f"import sys; sys.exit({code})")
    assert short_gpu._carry_out("cifar10", [], 30) == code


@pytest.mark.long
def test_a_suite_is_interrupted_when_the_time_is_up(monkeypatch, capfd):
    launched(monkeypatch, f"print('begun', flush=True)\n{WAITS}")
    monkeypatch.setattr(short_gpu, "FEWEST_SECONDS", 0.5)
    start = time.monotonic()
    assert short_gpu._carry_out("cifar10", [], 3) == short_gpu.AGAIN
    assert time.monotonic() - start < 20
    assert capfd.readouterr().out == "begun\nended cleanly\n"


@pytest.mark.long
def test_a_suite_that_does_not_end_is_killed(monkeypatch):
    ignoring = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)"
    launched(monkeypatch, ignoring)
    monkeypatch.setattr(short_gpu, "FEWEST_SECONDS", 0.5)
    monkeypatch.setattr(short_gpu, "SECONDS_TO_END", 0.5)
    start = time.monotonic()
    assert short_gpu._carry_out("cifar10", [], 2) == short_gpu.AGAIN
    assert time.monotonic() - start < 20


def test_nothing_is_begun_in_the_last_seconds(monkeypatch):
    launched(monkeypatch, "raise SystemExit('begun')")
    assert short_gpu._carry_out("cifar10", [], 1.0) == short_gpu.AGAIN


def test_suites_without_gates_and_unknown_options_are_refused(tmp_path, capsys):
    folders = ["--parts", str(tmp_path), "--out", str(tmp_path), "--device", "cpu"]
    for words in (["uci", *folders], ["cifar10", *folders, "--methodz", "MP"]):
        with pytest.raises(SystemExit) as end:
            short_gpu.main(words)
        assert end.value.code == 2
    assert "did you mean --methods" in capsys.readouterr().err


def test_the_suites_offered_are_those_that_declare_gates():
    names = short_gpu._with_gates()
    assert "cifar10" in names
    for name in names:
        module = importlib.import_module(f"bnnbench.suites.{name}.short_gpu")
        assert isinstance(module.RENTED, Gates)

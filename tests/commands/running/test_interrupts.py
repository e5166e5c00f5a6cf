"""Signals that ask a process to end."""

import signal
import sys

import pytest

from bnnbench.commands.suite import typed
from bnnbench.commands.terminal.failures import Terminated, ending_cleanly


def as_ray_does(number: signal.Signals) -> None:
    """Receive the signal in compiled code that raises an error of its own."""
    try:
        signal.raise_signal(number)
    except Terminated:
        raise KeyboardInterrupt from None


@pytest.fixture(params=[signal.SIGTERM, signal.SIGHUP])
def number(request):
    """A signal with its default handler, which `nohup` removes from SIGHUP."""
    before = signal.signal(request.param, signal.SIG_DFL)
    yield request.param
    signal.signal(request.param, before)


def test_the_signal_is_known_where_compiled_code_raises_another_interrupt(number):
    with pytest.raises(Terminated) as raised, ending_cleanly():
        as_ray_does(number)
    assert raised.value.number == number


def test_ctrl_c_stays_what_it_is():
    with pytest.raises(KeyboardInterrupt) as raised, ending_cleanly():
        signal.raise_signal(signal.SIGINT)
    assert raised.type is KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            ["/env/bin/python", "/env/bin/bnnbench", "toy", "--methods", "ivon(epochs=2)"],
            "bnnbench toy --methods 'ivon(epochs=2)'",
        ),
        (["/usr/bin/python3", "-m", "bnnbench", "own", "my data.csv"],
         "bnnbench own 'my data.csv'"),
        (["python", "-m", "suites.cifar10", "--seeds", "1"], "bnnbench cifar10 --seeds 1"),
        (["python", "-m", "suites.own", "a.csv"], "bnnbench compare a.csv"),
        (["python", "-m", "mine", "--seeds", "1"], "python -m mine --seeds 1"),
        (["python", "mine.py"], "python mine.py"),
    ],
)  # fmt: skip
def test_the_command_to_repeat_is_the_one_that_was_typed(monkeypatch, words, expected):
    monkeypatch.setattr(sys, "orig_argv", words)
    assert typed() == expected

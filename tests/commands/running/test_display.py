"""Progress on a terminal and in a file."""

import io
import itertools
import math
from dataclasses import replace

from rich.console import Console

from bnnbench.commands.planning.forecast import Forecast
from bnnbench.commands.terminal.display import SECONDS_BETWEEN_LINES, Lines, Live, display
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run.task import RunResult, Task
from tests.engine.records.test_record import RECORD
from tests.records import changed
from tests.suites.fakes import Line, Mean

RUN = Run("miniature", "quick", "[b]IVON[/b]", Case(Line(), ()), Mean(), fold=0, seed=0)
TASK = Task((RUN, replace(RUN, fold=1)), (Evaluation(Clean(), ("rmse",)),))
OTHERS = Task((replace(RUN, fold=2), replace(RUN, fold=3)), TASK.evaluations)
OUTCOMES = [RunResult(RECORD, None), RunResult(changed(RECORD, status="diverged"), None)]


def an_hour_for_each_run():
    return Forecast({run.key: 3600.0 for task in (TASK, OTHERS) for run in task.runs}, workers=1)


def test_a_terminal_gets_bars_and_a_file_gets_lines():
    assert isinstance(display(Console(force_terminal=True), 1, Forecast({}, 1)), Live)
    assert isinstance(display(Console(file=io.StringIO()), 1, Forecast({}, 1)), Lines)


def test_lines_come_for_every_task_and_seldom_in_between():
    console = Console(file=io.StringIO())
    seconds = iter(range(10**6))
    lines = Lines(console, 4, an_hour_for_each_run(), clock=lambda: next(seconds) / 10)
    with lines:
        lines.started(TASK)
        for epoch in range(1, 1001):
            lines.progressed(TASK, epoch, 1000, 0.25)
        lines.lost(TASK, "killed; trying once more")
        lines.finished(TASK, OUTCOMES)
    *epochs, lost, finished = console.file.getvalue().splitlines()
    assert 1 <= len(epochs) <= 1000 / 10 / SECONDS_BETWEEN_LINES + 1
    assert epochs[0].startswith("[b]IVON[/b] on line (2 runs): ")
    assert epochs[0].endswith("% done, loss 0.25; about 4.0 h left")
    assert lost == "[b]IVON[/b] on line (2 runs): killed; trying once more"
    ending = "[2/4] [b]IVON[/b] on line (2 runs): 1 completed, 1 diverged in 3.5 s"
    assert finished == f"{ending}; about 2.0 h left"


def test_a_method_without_a_loss_has_none_in_its_lines():
    console = Console(file=io.StringIO())
    lines = Lines(console, 4, an_hour_for_each_run(), clock=itertools.count(step=100).__next__)
    lines.progressed(TASK, 1, 2, math.nan)
    assert " done; " in console.file.getvalue()
    assert "loss" not in console.file.getvalue()


def test_a_terminal_shows_method_epoch_and_loss():
    console = Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None)
    with Live(console, 4, an_hour_for_each_run()) as live:
        live.started(TASK)
        live.progressed(TASK, 3, 25, 0.125)
        live._progress.refresh()
        live.lost(TASK, "killed; trying once more")
        live.started(TASK)
        live.finished(TASK, OUTCOMES)
    text = console.file.getvalue()
    assert "[b]IVON[/b] on line (2 runs)" in text
    assert "3/25" in text
    assert "loss 0.125" in text
    assert "about 4.0 h left" in text
    assert "killed; trying once more" in text
    assert "1 completed, 1 diverged in 3.5 s" in text

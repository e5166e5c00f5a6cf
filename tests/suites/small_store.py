"""Four runs in a store, commands about stores, and damage to files."""

from dataclasses import replace
from pathlib import Path

from bnnbench.commands import store as commands
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from tests.suites.fakes import Diverging, Line, Mean

RUN = Run("miniature", "quick", "Mean", Case(Line(), ()), Mean(), fold=0, seed=0)
RUNS = [replace(RUN, fold=fold) for fold in range(3)]


def outcomes(runs=RUNS):
    return [execute(Task((run,), (Evaluation(Clean(), ("rmse",)),)))[0] for run in runs]


OUTCOMES = outcomes([*RUNS, replace(RUN, label="Diverging", method=Diverging())])


def call(capsys, *arguments) -> tuple[int, str]:
    code = commands.command([str(argument) for argument in arguments])
    told = capsys.readouterr()
    return code, told.out + told.err


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def truncate(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-20])
    return path


def alter(path: Path) -> Path:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return path

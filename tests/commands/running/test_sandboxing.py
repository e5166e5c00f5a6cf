"""The paths that `--sandbox` hides are those of the user's own data, wherever a source has them."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bnnbench.commands.planning.plan import Plan
from bnnbench.commands.running import sandboxing
from bnnbench.datasets.conditions.acquired import Acquired
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.conditions.other_rows import OtherRows
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.own.table import own_table
from bnnbench.datasets.own.trained import trained_on
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.run.task import Task
from bnnbench.methods.adamw import AdamW
from bnnbench.suites.cifar10_shift import SUITES
from tests.suites.small_store import RUN


@dataclass(frozen=True)
class Guest:
    """A method that is not of this project."""

    def fit(self, problem, rng): ...


@dataclass(frozen=True)
class Declared:
    """The part of a suite that states its sources."""

    cases: tuple[Case, ...]
    evaluations: tuple[Evaluation, ...] = ()


def test_files_of_own_tables_are_hidden_also_inside_cuts(tmp_path):
    file = tmp_path / "rows.csv"
    file.write_text("a,y\n" + "".join(f"{n},{n / 7}\n" for n in range(40)))
    table = own_table(str(file), "y", None)
    cases = Case(table, ()), Case(Limited(table, train=5, test=5), ()), RUN.case
    assert sandboxing.paths_of(Declared(cases)) == [Path(table.path)] * 2
    assert sandboxing.paths_of(SUITES["quick"]) == []  # official files are in the data folder
    hidden = sandboxing.around([Path("results")]).hidden
    assert hidden == (str(Path("results").absolute()),)


def test_all_files_around_a_trained_network_are_hidden(tmp_path):
    files = [str(tmp_path / f"{name}.npz") for name in ("train", "test", "calibration", "other")]
    for place, file in enumerate(files):
        rows = np.arange(80, dtype=np.float32).reshape(40, 2) + place
        np.savez(file, inputs=rows, targets=rows[:, 0] / 7)
    train, test, calibration, other = files
    source = trained_on(train, test, calibration=calibration)
    inside = Evaluation(Acquired(OtherRows.of(other), 5), ())
    declared = Declared((Case(source, ()),), (Evaluation(Clean(), ()), inside))
    assert set(sandboxing.paths_of(declared)) == set(map(Path, files))


def test_tasks_of_third_party_methods_alone_are_confined():
    methods = AdamW(learning_rate=0.1, epochs=1, batch_size=8), Guest()
    tasks = tuple(Task((replace(RUN, method=method),), ()) for method in methods)
    plan = Plan((), tasks, {}).confined(Sandbox(("data",)))
    guests = [isinstance(task.runs[0].method, Guest) for task in plan.tasks]
    assert [task.sandbox is not None for task in plan.tasks] == guests == [False, True]
    assert plan.confined(None).tasks == tasks

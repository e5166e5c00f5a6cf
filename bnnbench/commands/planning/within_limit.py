"""A suite shortened to a time limit by a pilot, or as an equal command shortened it before."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from bnnbench.commands.planning.budget import Piloted, in_words
from bnnbench.commands.planning.cuts import Cut, Fixed
from bnnbench.commands.planning.kept_plan import KeptPlan, keep, place, plan_in
from bnnbench.commands.planning.pace import Pace, costs
from bnnbench.commands.planning.pilot import ROWS, pilot
from bnnbench.commands.running.arguments import Options
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.workers.base import executor
from bnnbench.wording import counted, listed

Say = Callable[[str], None]


def within_limit(
    suite: Suite,
    declared: Suite,
    options: Options,
    minutes: float | None,
    rows: Mapping[str, int],
    folder: Path,
    sandbox: Sandbox | None,
    say: Say,
) -> tuple[Suite, Piloted]:
    """Return a suite of one data set that is cut to a time limit, and estimates of its runs.

    An equal command's plan is used again; otherwise there is a pilot, and the plan is kept in the
    store's `folder`, unless this is a dry run. `declared` is the suite before the command line's
    choices, which are not cut; `rows` maps a case to its training rows. Third-party methods run
    their pilot in the `sandbox`, if there is one.
    """
    (case,) = suite.cases
    workers = options.placement(len(suite.methods))[1].workers
    pace = Pace(rows[case.name], _all_rows(case), workers, minutes)
    fixed = _fixed(suite, declared, options)
    path = place(folder, suite, pace, fixed, options.device)
    plan = _earlier_plan(path, suite, say)
    if plan is None:
        plan = _new(suite, fixed, pace, options, sandbox, say)
        if not options.dry_run:
            keep(path, plan)
    rest = replace(plan.cut.of(suite, fixed), shortened=_sentence(suite, plan.cut, minutes))
    _tell(rest, plan, pace, say)
    return rest, costs(rest, plan.pilot)


def _all_rows(case: Case) -> int:
    data = case.source.load(0)
    return len(data.train) + len(data.test)


def _fixed(suite: Suite, declared: Suite, options: Options) -> Fixed:
    """Return what the command line asks for."""
    changed = (n for n, method in suite.methods.items() if declared.methods.get(n) != method)
    asks = options.methods is not None or options.settings is not None
    return Fixed(asks, options.folds is not None, frozenset(changed))


def _earlier_plan(path: Path, suite: Suite, say: Say) -> KeptPlan | None:
    """Return the plan of an equal command; None if there was none or it cannot be used."""
    (case,) = suite.cases
    try:
        plan = plan_in(path, lambda: case.source.load(0).likelihood)
    except ValueError as error:
        say(f"{path} is damaged ({error}): planning anew")
        return None
    if plan and set(plan.cut.left_out) < suite.methods.keys():
        return plan
    return None


def _new(
    suite: Suite, fixed: Fixed, pace: Pace, options: Options, sandbox: Sandbox | None, say: Say
) -> KeptPlan:
    say(f"Pilot of {counted(len(suite.methods), 'method')} on at most {ROWS} rows")
    placed = executor(*options.placement(len(suite.methods)))
    measured = pilot(suite, options.device, placed, sandbox)
    return KeptPlan(pace.cut(suite, measured, fixed), measured)


def _sentence(suite: Suite, cut: Cut, minutes: float | None) -> str:
    """Return what was cut; "" if nothing was."""
    rest = cut.in_words(suite)
    return rest and f"Shortened to take {minutes:g} min (--minutes): {rest}"


def _tell(suite: Suite, plan: KeptPlan, pace: Pace, say: Say) -> None:
    """Print what is cut, whether that is enough, and the methods whose pilot failed."""
    if suite.shortened:
        say(suite.shortened)
    if failed := [label for label in suite.methods if label not in plan.pilot.rates]:
        say(f"The pilot failed: {listed(failed)}; assumed to take as long as others")
    if (seconds := pace.seconds(suite, plan.pilot)) > pace.limit(plan.pilot):
        say(f"The fits take about {in_words(seconds)}, more than --minutes allows")

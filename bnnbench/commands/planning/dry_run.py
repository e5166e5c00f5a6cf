"""`--dry-run`: the planned runs, their time and their memory."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bnnbench.commands.planning.budget import Budget, Cost, Experience, budget, in_words
from bnnbench.commands.planning.plan import Plan
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.run.measuring import memory
from bnnbench.engine.workers import Settings
from bnnbench.wording import counted


def dry_run(planned: Plan, rows: Mapping[str, int], settings: Settings, console: Console) -> None:
    """Print the runs of a plan by data set and method, with their estimated cost.

    `rows` maps each case whose data is available to its number of training rows.
    """
    experience = planned.experience
    todo = [run for task in planned.tasks for run in task.runs]
    costs = {run.key: experience.cost(run, rows.get(run.case.name)) for run in todo}
    table = Table(box=None, pad_edge=False)
    for column in ("data set", "method"):
        table.add_column(column)
    for column in ("to do", "finished", "time", "memory"):
        table.add_column(column, justify="right")
    places = dict.fromkeys((run.case.name, run.label) for run in planned.runs)
    for case, label in places:
        runs = [r for r in planned.runs if (r.case.name, r.label) == (case, label)]
        unfinished = [run for run in runs if run.key in costs]
        estimates = [costs[run.key] for run in unfinished]
        cells = (
            case,
            label,
            str(len(unfinished)),
            str(len(runs) - len(unfinished)),
            *_estimates(estimates),
        )
        table.add_row(*(Text(legible(cell)) for cell in cells))
    console.print(table)
    estimate = budget(planned.tasks, costs, settings.workers)
    _conclude(estimate, costs.values(), experience, settings, console)


def _estimates(costs: list[Cost | None]) -> tuple[str, str]:
    """Return the total time and the peak memory of runs, with "about" if estimated from others."""
    if not costs:
        return "", ""
    known = [cost for cost in costs if cost]
    if len(known) < len(costs):
        return "unknown", "unknown"
    rough = "about " if any(cost.basis != "same" for cost in known) else ""
    seconds, most = sum(cost.seconds for cost in known), max(cost.bytes for cost in known)
    return rough + in_words(seconds), rough + memory.in_words(most)


def _conclude(
    estimate: Budget,
    costs: Collection[Cost | None],
    experience: Experience,
    settings: Settings,
    console: Console,
) -> None:
    runs = len(costs)
    workers = counted(settings.workers, "worker")
    lines = []
    if estimate.unknown < runs:
        more = (
            f", and {counted(estimate.unknown)} whose time is unknown" if estimate.unknown else ""
        )
        about = "about " if any(cost and cost.basis != "same" for cost in costs) else ""
        lines.append(f"Estimated time with {workers}: {about}{in_words(estimate.seconds)}{more}")
        lines += sources(costs, experience)
    elif runs:
        lines.append(
            "Estimated time: unknown, because neither the store nor the finished runs shipped with "
            "this version have a run of these methods"
        )
    if estimate.largest:
        base = memory.high_water_mark("self")
        lines.append(
            f"Peak memory: {memory.in_words(estimate.bytes + base)} "
            f"({estimate.largest.name}); {workers}: up to "
            f"{memory.in_words(settings.workers * (estimate.bytes + base))}"
        )
    piloted = any(cost and cost.basis == "pilot" for cost in costs)
    done = "Only the pilot was run, nothing was" if piloted else "Nothing was run or"
    lines.append(f"{done} written (--dry-run).")
    for line in lines:
        console.print(legible(line), markup=False, highlight=False, soft_wrap=True)


def sources(costs: Collection[Cost | None], experience: Experience) -> Iterator[str]:
    """Yield one line on the source of the estimates for each basis."""
    counts = Counter(cost.basis for cost in costs if cost)
    if count := counts["same"]:
        yield f"  {counted(count)}: from comparable runs in this store"
    if count := counts["pilot"]:
        yield f"  {counted(count)}: from a pilot on a few rows"
    if count := counts["shipped"]:
        slow = experience.slowness
        speed = "equally fast" if 0.9 < slow < 1.1 else f"{slow:.2g} times as slow"
        yield (
            f"  {counted(count)}: from the finished runs of this repository; this machine is "
            f"{speed}, measured in one second"
        )
    if count := counts["scaled"]:
        yield f"  {counted(count)}: from similar runs in this store, scaled by rows and epochs"

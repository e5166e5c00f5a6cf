"""The states of a question in the overview: networks only or all methods, within each cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.overview.cells import Cell, cells_of
from bnnbench.reports.pages.site.overview.facts import NO_RUNS, Told, told
from bnnbench.reports.pages.site.ranking import networks_of
from bnnbench.reports.pages.site.tasks import Task

COSTS = (None, 30, 10, 3, 1)
"""Maximum fit times in multiples of the plain network's; None: any."""
USUAL, EVERYONE = "1x", "0x"
"""Networks only, and all methods, at any cost."""


@dataclass(frozen=True)
class State:
    """A question's answer and cells."""

    told: Told
    first: str = ""
    count: int = 0
    """The number of methods with a place."""
    cells: Mapping[str, Cell] = field(default_factory=dict)
    over_sets: bool = False
    """True if it is decided over data sets as random."""


NOT_RUN = State(NO_RUNS)


def states_of(task: Task | None) -> dict[str, State]:
    """Return name of a state → the state; equal states are one object."""
    if task is None:
        return {f"{nets}{cost or 'x'}": NOT_RUN for nets in "10" for cost in COSTS}
    states: dict[str, State] = {}
    mixed = len(networks_of(task)) < len(task.families)
    for nets in "10":
        for cost in COSTS:
            name, usual = f"{nets}{cost or 'x'}", f"1{cost or 'x'}"
            if nets == "0" and not mixed:
                states[name] = states[usual]
            elif cost and not task.of_processors:
                states[name] = states[f"{nets}x"]
            else:
                scale = task.scales[0].name
                states[name] = _state(answer_to(task, scale, cost, nets == "1"))
    return states


def _state(answer: Answer) -> State:
    cells = cells_of(answer)
    count = sum(cell.kind != "fails" for cell in cells.values())
    return State(told(answer), answer.first, count, cells, answer.verdict is not None)

"""One sentence about a custom data set: the best methods, and the methods not separated from them.

It repeats the tables' decisions and names every method that they do not rule out.
"""

from collections.abc import Mapping, Sequence

from bnnbench.reports.judge.decision import Decision, State
from bnnbench.reports.judge.measures import Judged
from bnnbench.reports.judge.over_sets.grades import Evidence, Grade, grade
from bnnbench.reports.judge.sentences import evidence
from bnnbench.reports.style.words import joined, quoted, spelled

GRADES: Mapping[Grade, tuple[str, str]] = {
    "best": ("is best", "are best"),
    "leads": ("leads", "lead"),
    "not shown to be best": ("is ahead, not shown to be best", "are ahead, not shown to be best"),
    "not decided": ("is ahead, but nothing is decided", "are ahead, but nothing is decided"),
}
"""Grade → the predicate of one leader, and of several."""
MOST_NAMES = 4
"""If all rivals are undecided and more than this, they are counted, not named."""


def conclusion(results: Sequence[Judged]) -> str:
    """Return the sentence about one data set, by each of its main metrics."""
    by_clause: dict[str, list[str]] = {}
    for result in results:
        by_clause.setdefault(clause(result), []).append(result.name)
    clauses = (f"by {joined(names)}, {clause}" for clause, names in by_clause.items())
    return f"For {results[0].benchmark.title}, {'; '.join(clauses)}."


def clause(result: Judged) -> str:
    """Return what the tests by one metric say about its best methods and the others."""
    decision = result.decision
    if not decision.leaders:
        return "no method has a complete set of runs"
    leaders = joined([quoted(name) for name in decision.leaders])
    several = len(decision.leaders) > 1
    if len(decision.candidates) == 1:
        return f"{leaders} alone {_were(several)} compared"
    if not decision.question:
        return f"{leaders} {_have(several)} the best mean, but nothing was tested"
    text = f"{leaders} {GRADES[grade(evidence_of(decision))][several]}"
    leader = "them" if several else "it"
    others, decided = decision.named("undecided"), decision.named("equal") + decision.named("worse")
    if len(others) > MOST_NAMES and not decided:
        none = f"none of the other {spelled(len(others))} methods"
        return f"{text}: {none} can be told from {leader} with {evidence(result.column)}"
    return ", ".join([text, *_rivals(result, leader)])


def evidence_of(decision: Decision) -> Evidence:
    """Return what decides the grade of a column's leader; candidates count, not methods."""
    states = [decision.standings[group[0]].state for group in decision.candidates]
    rivals, worse, equal = len(states) - 1, states.count("worse"), states.count("equal")
    tied = sum(state in ("best", "leads") for state in states) > 1
    return Evidence(decision.leaders[0], rivals, worse, equal, tied=tied)


def _rivals(result: Judged, leader: str) -> list[str]:
    """Return clauses on the decisions about the methods other than the leaders."""
    decision = result.decision
    open_, equal, worse = (_named(decision, s) for s in ("undecided", "equal", "worse"))
    others = len(open_) + len(equal) + len(worse)
    parts = []
    if equal:
        verb = "is" if len(equal) == 1 else "are"
        parts.append(f"{joined(equal)} {verb} practically equal to {leader}")
    if open_:
        verb = f"cannot be told from {leader} with {evidence(result.column)}"
        parts.append(f"but {joined(open_)} {verb}")
    if worse:
        parts.append(f"and {_worse(worse, others)}")
    return parts


def _worse(worse: Sequence[str], others: int) -> str:
    if len(worse) == 1:
        return f"{worse[0]} is worse"
    which = "all others" if len(worse) == others else f"the other {spelled(len(worse))}"
    return f"{which} are worse"


def _named(decision: Decision, state: State) -> list[str]:
    return [quoted(name) for name in decision.named(state)]


def _were(several: bool) -> str:
    return "were" if several else "was"


def _have(several: bool) -> str:
    return "have" if several else "has"

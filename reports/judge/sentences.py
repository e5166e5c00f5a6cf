"""Sentences about one table column: the best methods, worse methods, and open comparisons."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.judge.decision import Decision
from bnnbench.reports.judge.participants import FEWEST
from bnnbench.reports.judge.summaries.planning import MOST_RUNS, Plan
from bnnbench.reports.judge.table import Cell, Column
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import amount, number, typographic
from bnnbench.reports.style.words import counted_in_words, joined, plural, quoted, spelled

MOST_NAMES = 4
"""Longer lists of methods are counted."""


Cells = Mapping[str, Cell]
"""method → its cell in the column"""


def sentence(column: Column, cells: Cells, names_left_out: bool = True) -> str:
    """Return all sentences on a column as one text; "" if methods are not compared."""
    texts = remarks(column, cells)
    if not names_left_out:
        texts = [text for text in texts if text != left_out(column, cells)]
    return " ".join([*verdict(column, cells), *texts])


def verdict(column: Column, cells: Cells, name: str = "") -> list[str]:
    """Return the sentences on the best method, and on the runs needed to decide more.

    `name` is the metric's name in running text, if it differs from the column's.
    """
    telling = _telling(column, cells, name)
    return [text for of in telling for text in (of.verdict(), of.outlook()) if text]


def remarks(column: Column, cells: Cells, name: str = "") -> list[str]:
    """Return the sentences on the methods that are not compared."""
    telling = _telling(column, cells, name)
    return [text for of in telling for text in (of.left_out(), of.constants()) if text]


def left_out(column: Column, cells: Cells) -> str:
    """Return the sentence that names the methods not compared; "" if there are none."""
    return "".join(of.left_out() for of in _telling(column, cells, ""))


def _telling(column: Column, cells: Cells, name: str) -> "list[_Telling]":
    if column.decision is None or not cells:
        return []
    return [_Telling(column, column.decision, cells, name or labels.in_text(column.name))]


def margin_text(column: Column) -> str:
    """Return the margin of practical equality with its unit; "" if absent."""
    if column.margin is None or column.decision is None or column.decision.margin is None:
        return ""
    if column.margin.relative:
        return f"{100 * column.margin.size:g} %"
    return amount(column.decision.margin * column.scale, column.unit)


def evidence(column: Column) -> str:
    """Return the evidence for a column's decision: "five splits", "1,000 test points"."""
    decision = column.decision
    assert decision is not None, "there is a decision"
    if decision.question == "these networks":
        return f"{decision.points:,} test points"
    return counted_in_words(decision.replicates, replicate_noun(column))


def replicate_noun(column: Column) -> str:
    """Return the noun for the runs behind a mean."""
    return "split" if column.by_fold else "seed"


@dataclass(frozen=True)
class _Telling:
    """The sentences about one column."""

    column: Column
    decision: Decision
    cells: Cells
    name: str

    def verdict(self) -> str:
        decision = self.decision
        if not decision.leaders:
            return "No method has a complete set of runs, so none is called best."
        if len(decision.candidates) == 1:
            return self._alone()
        if not decision.question:
            return f"{self._lead()}; {self._untested()}."
        worse, equal, open_ = (self._rivals(s) for s in ("worse", "equal", "undecided"))
        if open_ and not worse and not equal:
            return self._nothing_found()
        if open_:
            return self._some_open(worse, equal, open_)
        if worse and not equal:
            return f"{self._best()}; {self._are_worse(worse, rest=True)}{self._ending}."
        if worse:
            return (
                f"{self._best()}; {self._within(equal)}, "
                f"and {self._are_worse(worse, others=True)}{self._ending}."
            )
        total = sum(map(len, decision.candidates))
        all_ = "both" if total == 2 else f"all {spelled(total)}"
        return (
            f"No difference of more than {self._margin}: {all_} methods are practically equal "
            f"to the best, {self._names} ({self._value}){self._ending}."
        )

    def outlook(self) -> str:
        """Return the sentence on the runs needed to decide the nearest undecided method."""
        open_ = {n: self.decision.standings[n] for n in self._rivals("undecided")}
        plans = {name: standing.plan for name, standing in open_.items() if standing.plan}
        if not plans:
            return ""
        nearest = min(plans, key=lambda name: open_[name].gap)
        plan, noun = plans[nearest], replicate_noun(self.column)
        if plan.points_limit:
            return (
                f"More seeds would not settle it: {self.decision.points:,} test points are too few."
            )
        if math.isinf(plan.needed):
            return "No number of further splits of these data would settle it; other data would."
        return f"{quoted(nearest)}, the nearest, would take {runs_needed(plan, noun)} to settle."

    def left_out(self) -> str:
        """Return the sentence that names the methods not compared, with the reasons."""
        reasons: dict[str, list[str]] = {}
        for name in self.decision.named("not eligible"):
            why = self.decision.standings[name].excluded
            assert why is not None, "a method that is not eligible has a reason"
            reasons.setdefault(why.reason, []).append(quoted(name))
        parts = [f"{joined(names)} ({reason})" for reason, names in reasons.items()]
        return f"Not compared: {', '.join(parts)}." if parts else ""

    def constants(self) -> str:
        """Return the warning that a constant has a better mean than every compared method."""
        if not self.decision.better_constants:
            return ""
        value = self._number(self.decision.better_constants[0])
        return (
            f"A constant prediction has a better {self.name} ({value}): this metric alone does "
            "not show a useful method."
        )

    def _alone(self) -> str:
        if len(self.decision.leaders) > 1:
            return f"{self._names} have the same {self.name} in every run ({self._value})."
        return f"{self._names} alone was compared: its {self.name} is {self._value}."

    def _nothing_found(self) -> str:
        total = sum(map(len, self.decision.candidates))
        evidence = labels.sentence(self._evidence)
        return (
            f"{evidence} cannot tell these {spelled(total)} methods apart: {self._lead()}, and "
            f"none is shown to be worse{self._ending}."
        )

    def _some_open(self, worse: Sequence[str], equal: Sequence[str], open_: Sequence[str]) -> str:
        parts = [
            f"{self._lead(so_far=True)}, but {self._some(open_)} cannot be told from the best with "
            f"{self._evidence}"
        ]
        if equal:
            parts.append(self._within(equal))
        if worse:
            parts.append(self._are_worse(worse))
        return f"{'; '.join(parts)}{self._ending}."

    def _untested(self) -> str:
        if self.decision.replicates < FEWEST:
            return f"with {counted_in_words(self.decision.replicates, 'run')} nothing was tested"
        return f"nothing was tested, as {self.decision.untested}"

    def _best(self) -> str:
        if self.decision.standings[self.decision.leaders[0]].state != "best":
            return self._lead()  # several share the best mean
        return f"{self._names} {self._have} the best {self.name} ({self._value})"

    def _lead(self, so_far: bool = False) -> str:
        way = "highest" if self.column.higher_is_better else "lowest"
        until = " so far" if so_far else ""
        return f"{self._names} {self._have} the {way} {self.name}{until} ({self._value})"

    def _within(self, equal: Sequence[str]) -> str:
        verb = "is" if len(equal) == 1 else "are"
        return f"{self._some(equal)} {verb} within {self._margin} of it"

    def _are_worse(self, worse: Sequence[str], rest: bool = False, others: bool = False) -> str:
        verb = "is" if len(worse) == 1 else "are"
        if len(worse) <= MOST_NAMES:
            return f"{joined([quoted(n) for n in worse])} {verb} worse"
        if rest:
            return f"all {spelled(len(worse))} other methods are worse"
        return f"{'the other ' * others}{spelled(len(worse))} {verb} worse"

    def _some(self, names: Sequence[str]) -> str:
        return joined([quoted(n) for n in names]) if len(names) <= MOST_NAMES else _methods(names)

    def _rivals(self, state: str) -> list[str]:
        return [n for n, standing in self.decision.standings.items() if standing.state == state]

    def _number(self, method: str) -> str:
        value = number(self.cells[method].mean * self.column.scale, self.column.decimals)
        if self.column.digits:
            value = f"{self.cells[method].mean * self.column.scale:.{self.column.digits}g}"
        space = "\u00a0" if self.column.unit == "%" else " "
        return f"{typographic(value)}{space}{self.column.unit}".strip()

    @property
    def _evidence(self) -> str:
        return evidence(self.column)

    @property
    def _ending(self) -> str:
        if self.decision.question == "these networks":
            return "; how other seeds would come out is not known"
        return ""

    @property
    def _margin(self) -> str:
        return margin_text(self.column)

    @property
    def _names(self) -> str:
        return joined([quoted(name) for name in self.decision.leaders], MOST_NAMES)

    @property
    def _have(self) -> str:
        return "have" if len(self.decision.leaders) > 1 else "has"

    @property
    def _value(self) -> str:
        return self._number(self.decision.leaders[0])


def runs_needed(plan: Plan, noun: str) -> str:
    """Return "about 16 seeds (9 to 53)"."""
    if plan.needed > MOST_RUNS:
        return f"more than {MOST_RUNS:,} {plural(noun, 2)}"
    least = f"{plan.low:,.0f}"
    span = f"{least} or more" if plan.high > MOST_RUNS else f"{least} to {plan.high:,.0f}"
    return f"about {plan.needed:,.0f} {plural(noun, 2)} ({span})"


def _methods(names: Sequence[str]) -> str:
    return counted_in_words(len(names), "method")

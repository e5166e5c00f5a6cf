"""The conclusion of a suite in three sentences, made only from the statistics.

They state which methods are best, practically equal, worse or undecided, the cost of the best, and
which runs are missing or doubtful.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bnnbench.reports.judge.conclusion import conclusion
from bnnbench.reports.judge.findings import across, is_good, on_one, short, short_across
from bnnbench.reports.judge.measures import Judged, judged, main_metrics
from bnnbench.reports.judge.over_sets.results import verdict_on
from bnnbench.reports.judge.over_sets.verdict import Verdict
from bnnbench.reports.judge.over_sets.worth import shipped_advice
from bnnbench.reports.judge.ranks import Ranks, ranks
from bnnbench.reports.judge.summaries.costs import BASE, Costs, costs
from bnnbench.reports.judge.treatments import treatment_decision
from bnnbench.reports.judge.yardsticks import yardsticks
from bnnbench.reports.papers.reproduction import reproductions
from bnnbench.reports.papers.summaries import clauses, deciding
from bnnbench.reports.papers.verdicts import judgements
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.read.success import Success, over_all
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import duration
from bnnbench.reports.style.words import all_of, counted, joined, quoted, some_of

MOST_NAMES = 4
"""Longer lists of methods are cut: "A, B, C, D and 5 others"."""
OWN = "own"
"""The origin value of the user's own data."""
CHEAPER = 1.05
"""A method is called cheaper if the other takes at least this many times as long."""


@dataclass(frozen=True)
class Answer:
    """Three sentences about one profile of a suite, and one line for the front page."""

    best: str
    cost: str
    limits: str
    line: str
    main: tuple[Judged, ...] = ()
    """The comparisons behind the sentences, one per data set and main metric."""
    conclusions: tuple[str, ...] = ()
    """A sentence per custom data set: its best methods, and methods not separated from them."""
    from_others: str = ""
    """For a custom table: what the finished runs on other tables advise."""
    over_sets: Verdict | Ranks | None = None
    """The decision over several data sets by the first main metric, if there is any."""
    yardsticks: str = ""
    """The methods that are no networks, and those of them that are ahead."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """The sentences in order, without empty ones."""
        parts = (*self.conclusions, self.best, self.yardsticks, self.cost, self.limits)
        return tuple(text for text in (*parts, self.from_others) if text)

    @property
    def in_terminal(self) -> tuple[str, ...]:
        """The sentences on custom data sets that a terminal shows."""
        told = (*self.conclusions, self.yardsticks, self.limits) if self.conclusions else ()
        return tuple(text for text in told if text)


def answer(benchmarks: Sequence[Benchmark], published: Iterable[str] | None = None) -> Answer:
    """Return the conclusion of one profile, given its benchmarks.

    Custom data sets are answered one by one. `published` are clauses about printed numbers
    (`summaries.clauses`), computed here if not given. The best are chosen among networks, unless
    the benchmarks are `with_yardsticks`.
    """
    if len(benchmarks) > 1 and all(benchmark.origin == OWN for benchmark in benchmarks):
        return _one_by_one([answer([benchmark], ()) for benchmark in benchmarks])
    if published is None:
        published = clauses(deciding(judgements(reproductions(benchmarks)).values()))
    methods = list(dict.fromkeys(m for b in benchmarks for m in b.runs))
    outcomes = over_all(benchmarks, methods)
    entered = [benchmark.in_headlines for benchmark in benchmarks]
    by_metric = {
        metric: scored
        for metric in main_metrics(entered)
        if (scored := [j for b in entered if (j := judged(b, metric)) and j.cells])
    }
    if not by_metric:
        nothing = _nothing(list(outcomes.values()))
        return Answer(nothing, "", _sentence(published), nothing)
    over_sets = None
    if len(benchmarks) == 1:
        firsts = [scored[0] for scored in by_metric.values()]
        best, line = on_one(firsts, len(methods)), short(firsts[0])
    else:
        ranked = {metric: ranks(entered, metric) for metric in by_metric}
        verdicts = {metric: verdict_on(of) for metric, of in by_metric.items()}
        compared = len({m for benchmark in entered for m in benchmark.runs})
        best = across(by_metric, ranked, verdicts, compared, len(benchmarks))
        metric = next(iter(by_metric))
        over_sets = verdicts[metric] or ranked[metric]
        line = short_across(by_metric[metric], ranked[metric], verdicts[metric])
    cost = _cost(costs(entered), next(iter(by_metric.values())))
    limits = [*_failures(outcomes), *_unconverged(outcomes), *published]
    main = tuple(j for scored in by_metric.values() for j in scored)
    others = yardsticks(benchmarks, main)
    if benchmarks[0].origin != OWN:
        return Answer(
            *(best, cost, _sentence(limits), line, main), over_sets=over_sets, yardsticks=others
        )
    treated = treatment_decision(main[0])
    advised = "" if treated else _from_others(benchmarks[0])
    concluded = (treated or conclusion(main),)
    return Answer(
        *(best, cost, _sentence(limits), line, main, concluded, advised, over_sets, others)
    )


def _from_others(benchmark: Benchmark) -> str:
    """Return what the finished runs on other tables advise for a custom table; "" for images."""
    circumstances = benchmark.records[0].circumstances
    if not isinstance(circumstances.facts.get("features"), int):
        return ""
    return shipped_advice("regression" if circumstances.target else "classification")


def _one_by_one(answers: Sequence[Answer]) -> Answer:
    """Return the combined answers about several unrelated data sets."""
    return Answer(
        " ".join(a.best for a in answers),
        "",
        " ".join(a.limits for a in answers if a.limits),
        " ".join(a.line for a in answers),
        tuple(judged for a in answers for judged in a.main),
        tuple(text for a in answers for text in a.conclusions),
        " ".join(dict.fromkeys(a.from_others for a in answers if a.from_others)),
        yardsticks=" ".join(dict.fromkeys(a.yardsticks for a in answers if a.yardsticks)),
    )


def _nothing(outcomes: Sequence[Success]) -> str:
    """Return the sentence for results without a score."""
    begun, completed = sum(s.begun for s in outcomes), sum(s.completed for s in outcomes)
    if not begun:
        return "There are no runs to compare."
    if completed:
        runs = counted(completed, "run")
        verb = "was" if completed == 1 else "were"
        return f"{runs} {verb} completed, but there is no score by which to compare methods."
    whose = f"of {counted(len(outcomes), 'method')}"
    return f"{all_of(begun, 'run')} {whose} diverged or failed; there is nothing to compare."


def _cost(costs: Costs | None, results: Sequence[Judged]) -> str:
    """Return the cost of the best method relative to AdamW or the cheapest method.

    A cheaper method that is practically equal to the best is named, too.
    """
    if costs is None:
        return ""
    wins: dict[str, int] = {}
    for method in (m for j in results for m in j.decision.leaders if m in costs.ratios):
        wins[method] = wins.get(method, 0) + 1
    if not wins:
        return ""
    champion = max(sorted(wins), key=lambda m: wins[m])
    name = quoted(champion)
    if champion == costs.base:
        text = f"A fit of {name} takes {costs.seconds(champion)}"
        if costs.base_is_cheapest and len(costs.ratios) > 1:
            text += ", less than any other method"
    else:
        note = ", the cheapest," if costs.base != BASE and costs.base_is_cheapest else ""
        base = f"{quoted(costs.base)}{note} {duration(costs.base_fits[champion])}"
        text = f"A fit of {name} takes {costs.seconds(champion)}, of {base}"
    as_good = {m for m in costs.ratios if all(is_good(j, m) for j in results)}
    cheapest = min(sorted(as_good), key=lambda m: costs.ratios[m], default=None)
    if (
        cheapest
        and cheapest != champion
        and costs.ratios[cheapest] * CHEAPER < costs.ratios[champion]
    ):
        verdict = f"is practically equal{' everywhere' * (len(results) > 1)}"
        if cheapest == costs.base:
            text += f"; {quoted(cheapest)} itself {verdict}"
        else:
            text += f"; {quoted(cheapest)}, {costs.seconds(cheapest)}, {verdict}"
    return f"{text}."


def _failures(outcomes: Mapping[str, Success]) -> list[str]:
    """Return the clause about runs that diverged, failed or were never run."""
    short_of = sorted((s for s in outcomes.values() if not s.whole), key=lambda s: s.share)
    if not short_of:
        return []
    asked = sum(s.asked for s in outcomes.values())
    ends = {
        "diverged": sum(s.diverged for s in short_of),
        "failed": sum(s.failed for s in short_of),
        "not run": sum(s.missing for s in short_of),
    }
    endings = []
    for end, count in ends.items():
        was = ("was " if count == 1 else "were ") if end == "not run" else ""
        if count:
            endings.append(f"{count} {was}{end}")
    endings[0] = endings[0].replace(" ", f" of {counted(asked, 'run')} ", 1)
    named = [
        f"{quoted(s.method)} {s.asked - s.completed} of {s.asked}" for s in short_of[:MOST_NAMES]
    ]
    return [f"{joined(endings)} ({some_of(named, len(short_of), 'method')})"]


def _unconverged(outcomes: Mapping[str, Success]) -> list[str]:
    """Return the clause about completed runs that did not converge."""
    concerned = sorted(
        (s for s in outcomes.values() if s.unconverged), key=lambda s: -s.unconverged
    )
    if not concerned:
        return []
    named = [f"{quoted(s.method)} {s.unconverged} of {s.completed}" for s in concerned[:MOST_NAMES]]
    total = sum(s.unconverged for s in concerned)
    runs = counted(total, "completed run")
    count = "count" if total > 1 else "counts"
    which = some_of(named, len(concerned), "method")
    return [f"{runs} did not converge and {count} by score ({which})"]


def _sentence(parts: Iterable[str]) -> str:
    text = "; ".join(parts)
    return f"{labels.sentence(text)}." if text else ""

"""A tried method's place among the finished runs, graded as the board's headline is."""

from collections.abc import Iterator, Sequence

from bnnbench.reports.judge.measures import main_metrics
from bnnbench.reports.judge.over_sets.grades import sentence
from bnnbench.reports.judge.over_sets.verdict import verdict
from bnnbench.reports.judge.summaries.costs import costs
from bnnbench.reports.pages.site.advice import advice, place_in_words, too_few, unconverged_in_words
from bnnbench.reports.pages.site.answers import Answer
from bnnbench.reports.pages.site.leagues import league_of
from bnnbench.reports.pages.site.overview.cells import Cell, cells_of
from bnnbench.reports.pages.site.questions import (
    BESIDE,
    OF_CLASSES,
    OF_NUMBERS,
    OF_RARE_CLASSES,
    Criterion,
    Place,
    Question,
    clean,
    question_of,
)
from bnnbench.reports.pages.site.ranking import networks_of, ranked
from bnnbench.reports.pages.site.tasks import Task, task_of
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.style import labels


def place_of(
    method: str, benchmarks: Sequence[Benchmark], with_yardsticks: bool = False
) -> Iterator[str]:
    """Yield the method's place among those of one profile by the first main metric, and its cost.

    Methods that are no networks are left out, unless asked for or the method is one of them.
    """
    task = _task(benchmarks)
    if task is None:
        stand_in = all(benchmark.origin == "stand-in" for benchmark in benchmarks)
        why = "stand-in data rank nothing" if stand_in else "there is no common score to rank by"
        yield f"{method} has no place: {why}; --details compares it on each data set."
        return
    networks = not with_yardsticks and method in networks_of(task)
    answer = _answer(task, networks)
    kind = "networks" if networks and len(networks_of(task)) < len(task.families) else "methods"
    first = benchmarks[0]
    among = f"{kind} of {first.records[0].suite}, {labels.profile(first.profile)} profile"
    yield _place(method, answer, among)
    told = [sentence(answer.evidence) if answer.evidence else answer.on_these.headline]
    yield " ".join([*told, *unconverged_in_words(answer.ranking), *_cost(method, benchmarks)])


def _task(benchmarks: Sequence[Benchmark]) -> Task | None:
    """Return the board's question about a profile, or one about its clean test data."""
    metrics, suite = main_metrics(benchmarks), benchmarks[0].records[0].suite
    if not metrics:
        return None
    profile = benchmarks[0].profile
    known = question_of(suite, profile)
    places = known.places if known else (Place(suite, profile, clean),)
    of = tuple(place for place in places if (place.suite, place.profile) == (suite, profile))
    kind = known.kind if known else suite
    return task_of(
        Question(kind, profile, "searched", (_criterion(metrics[0]),), of), {suite: benchmarks}
    )


def _criterion(metric: str) -> Criterion:
    known = (*OF_NUMBERS, *OF_CLASSES, *OF_RARE_CLASSES, *BESIDE)
    return next((c for c in known if metric in c.metrics), Criterion(metric, (metric,), ""))


def _answer(task: Task, networks: bool) -> Answer:
    """Return the board's answer, without the worth of its advice, which takes long."""
    name = task.scales[0].name
    ranking, league = ranked(task, name, networks=networks), league_of(task, name, None, networks)
    return Answer(ranking, verdict(league) if league else None, advice(ranking))


def _place(method: str, answer: Answer, among: str) -> str:
    ranking = answer.ranking
    where = f"by mean {ranking.scale.title} on {place_in_words(ranking)}"
    cell = cells_of(answer).get(method)
    if cell is None or cell.kind == "fails":
        return f"{method} has no place among the {among}: {_reason(method, answer, cell)}."
    order = [row.method for row in ranking.compared]
    if answer.verdict:
        league = answer.verdict.league
        order = [m for p in answer.verdict.places for m in (p.method, *league.alike[p.method])]
        where = f"by its mean share of the gap over {len(league.sets)} data sets"
    if answer.evidence is None:
        open_ = too_few(ranking)
    elif cell.low == cell.high:
        open_ = "the tests leave no other open"
    else:
        open_ = f"the tests leave {cell.low} to {cell.high} open"
    return f"{method}: place {order.index(method) + 1} of {len(order)} {among}, {where}; {open_}."


def _reason(method: str, answer: Answer, cell: Cell | None) -> str:
    if cell:
        return cell.why
    lacking = answer.ranking.missing.get(method, ())
    rows = [row for row in answer.ranking.rows if row.method == method and row.standing.excluded]
    excluded = [row.standing.excluded.reason for row in rows if row.standing.excluded]
    return next(iter(excluded), f"it was not run on {', '.join(lacking) or 'these data'}")


def _cost(method: str, benchmarks: Sequence[Benchmark]) -> Iterator[str]:
    if (cost := costs(benchmarks)) and method in cost.fits:
        base = "" if method == cost.base else f", {cost.times(method)} of {cost.base}"
        yield f"A fit of {method} takes {cost.seconds(method)}{base}."

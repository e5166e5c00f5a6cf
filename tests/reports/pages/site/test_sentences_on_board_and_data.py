"""Numbers in the generated sentences of the board and of data sets, recomputed from records."""

import re

import pandas as pd
import pytest

from bnnbench.reports.pages.drilldown.run_pages import run_addresses
from bnnbench.reports.pages.methods.failures import verdicts_of
from bnnbench.reports.pages.site.advice import advice
from bnnbench.reports.pages.site.data_pages import data_page
from bnnbench.reports.pages.site.questions import QUESTIONS
from bnnbench.reports.pages.site.ranking import ranked
from bnnbench.reports.style import labels
from bnnbench.reports.style.numbers import slug
from docs.generate import finished_runs
from tests.reports.pages.site.recomputed import (
    count_of,
    duration_in_seconds,
    is_rounded,
    mean_seconds,
    means,
    table,
)

pytestmark = pytest.mark.long

WORD = r"([A-Z]?[a-z]+|\d+)"
HEADLINES = (
    r"Use (.+?)(?: first)?: .+",
    r"(?:None is best|Nothing is decided): use (.+), the cheapest.*",
    r"(.+) is first, but not shown to be best\.",
    r"(.+) has the best mean; nothing is decided\.",
)
CLAUSES = (
    r"cannot be told from the best", r"(?:is|are) worse\.", r"(?:is|are) practically equal",
    r"(?:has|have) exactly the same scores", r"fails? on",
)  # fmt: skip
COMMON = {"methodPages": [], "search": []}


def method_of(headline):
    """Return the method that a headline tells to use."""
    (method,) = (match[1] for text in HEADLINES if (match := re.fullmatch(text, headline)))
    return method


def benchmarks_of(task):
    """Return each column of a task with its benchmark."""
    of = {(s, b.identity): b for s, bs in finished_runs.suites().items() for b in bs}
    return {column: of[column.suite, column.benchmark] for column in task.columns}


def named(text, methods):
    """Return how many methods the sentences of a ranking name or count, except for the first."""
    total = 0
    for sentence in re.split(r"(?<=\.) (?=[A-Z])", text):
        for clause in CLAUSES:
            before = re.split(clause, sentence)
            if len(before) > 1:
                counted = re.search(rf"{WORD} others?(?: are)? ?$", before[0])
                exact = [
                    m for m in re.split(r", (?![^(]*\))| and ", before[0].strip()) if m in methods
                ]
                total += count_of(counted[1]) if counted else len(exact)
    return total


@pytest.mark.parametrize(
    "question", QUESTIONS, ids=lambda q: slug(f"{q.kind} {q.data} {q.settings}")
)
def test_answers_count_methods_runs_and_seconds_as_the_records_do(question):
    task = next((task for task in finished_runs.tasks() if task.question == question), None)
    if task is None:
        pytest.skip("the bundle has no runs of it")
    assert task.scales
    for scale in task.scales:
        require_an_answer_by_the_records(task, scale)


def require_an_answer_by_the_records(task, scale):
    ranking = ranked(task, scale.name)
    text = advice(ranking).text
    at = benchmarks_of(task)
    compared = [row.method for row in ranking.compared]
    if re.search("|".join(CLAUSES), text):
        everyone = set.intersection(
            *({m for m, of in task.scores[scale.name][c.name].items() if of} for c in at)
        )
        apart = {row.method for row in ranking.rows if row.margin is None}
        others = len(everyone - set(task.constants) - apart) - 1
        assert named(text.replace("All ", ""), compared) == others
    for runs in re.findall(r"with (\d+) (?:split|seed)s?", text):
        each = []
        for column, benchmark in at.items():
            keys = [
                {(r.fold, r.seed) for r in benchmark.runs[m] if r.outcome.status == "completed"}
                for m in compared
            ]
            common = set.intersection(*keys)
            each.append(len({fold for fold, _ in common} if column.by_fold else common))
        assert int(runs) == min(each)
    instead = re.search(
        r"It is within \S+ (?:% of the RMSE|[\w ]+?) of (.+?), which has the best .+?"
        r" for (.+?) a fit instead of (.+?)\.(?= |$)",
        text,
    )
    if instead:
        used = method_of(advice(ranking).headline)
        for method, printed in ((used, instead[2]), (instead[1], instead[3])):
            expected = mean_seconds(at.values(), method)
            shown, unit = duration_in_seconds(printed)
            assert abs(shown - expected) <= unit, (method, text)
        text = text.replace(instead[0], "")
    alone = re.search(r"(?<=\. )([^.;]+) takes ([\d.]+ (?:s|min|h)) a fit\.", text)
    if alone:
        used = method_of(advice(ranking).headline)
        expected = mean_seconds(at.values(), used)
        shown, unit = duration_in_seconds(alone[2])
        assert alone[1] == used
        assert abs(shown - expected) <= unit
        text = text.replace(alone[0], "")
    times = re.findall(
        r"(?:is|;|for) (?:([^:;.]+): )?([^:;]*?)(?: takes )?([\d.]+ (?:s|min|h)\b)", text
    )
    for cheapest, use, printed in times:
        method = (cheapest or use).strip()
        expected = mean_seconds(at.values(), method)
        shown, unit = duration_in_seconds(printed)
        assert abs(shown - expected) <= unit, (method, text)
    assert len(times) == len(re.findall(r"[\d.]+ (?:s|min|h)\b", text))


@pytest.mark.parametrize("question", QUESTIONS[:4], ids=lambda question: question.data)
def test_another_method_is_named_where_the_choice_hangs_on_one_data_set(question):
    task = next((task for task in finished_runs.tasks() if task.question == question), None)
    if task is None:
        pytest.skip("the bundle has no runs of it")
    for scale in task.scales:
        ranking = ranked(task, scale.name)
        names = [row.method for row in ranking.compared]
        if "worse by likelihood" in advice(ranking).text:  # the best calibrated are useless
            assert scale.name == "calibration"
            continue
        of = task.scores[scale.name]
        lowered = {
            c.title: pd.DataFrame(
                {m: pd.Series(of[c.name][m]).map(scale.lowered) for m in names}
            ).groupby(level=0).mean().mean()
            for c in task.columns
        }  # fmt: skip
        told = dict(re.findall(r"without ([\w ]+): ([^;.]+)", advice(ranking).text))
        without = {
            title: sum(m for t, m in lowered.items() if t != title).idxmin() for title in lowered
        }
        others = {title: best for title, best in without.items() if best != names[0]}
        if counted := re.search(r"without one of (\w+) data sets", advice(ranking).text):
            assert count_of(counted[1]) == len(others)
        else:
            assert told == others


@pytest.fixture(scope="module")
def verdicts():
    """The verdicts on all data sets of docs/bundle."""
    return verdicts_of(finished_runs.suites())


def test_the_best_score_and_the_counts_on_data_pages_agree_with_the_records(verdicts):
    checked = 0
    for of in verdicts.values():
        for verdict in of:
            runs = table(verdict.benchmark, verdict.metric, verdict.condition)
            states = [cell.standing.state for cell in verdict.cells.values()]
            for sentence in verdict.verdict:
                name = re.escape(verdict.name)
                best = (
                    rf"^(?:.* apart: )?“?(.+?)”? has the (?:best|lowest|highest) {name}(?: so far)?"
                )
                for method, value in re.findall(rf"{best} \((-?[\d.]+)", sentence):
                    ours = verdict.column.scale * means(runs)[method]
                    assert is_rounded(value, ours), (sentence, ours)
                    checked += 1
                for worse in re.findall(
                    rf"(?:; |all |and ){WORD} (?:other methods )?are worse", sentence
                ):
                    if worse.lower() not in ("both", "others"):
                        assert count_of(worse) == states.count("worse"), sentence
                        checked += 1
                for replicates in re.findall(rf"{WORD} (?:splits|seeds) cannot tell", sentence):
                    keys = runs.groupby("method").fold.nunique()
                    seeds = runs.groupby("method").size()
                    of_runs = keys if verdict.column.by_fold else seeds
                    assert count_of(replicates) == of_runs[list(_compared(verdict))].min(), sentence
                    checked += 1
    assert checked > 150


def _compared(verdict):
    return [m for m, cell in verdict.cells.items() if cell.standing.excluded is None]


def test_a_data_page_has_the_sentences(verdicts):
    suites = finished_runs.suites()
    of = {s: [b for b in bs if b.dataset == "boston"] for s, bs in suites.items()}
    of = {s: bs for s, bs in of.items() if bs}
    pages = {m: m for bs in of.values() for b in bs for m in b.runs}
    text = data_page(
        *("boston", "data/boston.html", of, pages, verdicts, run_addresses(suites), {}, COMMON)
    )
    said = [v.verdict[0] for s, bs in of.items() for b in bs for v in verdicts[s, b.identity]]
    assert said
    assert all(sentence in text for sentence in said)
    headings = re.findall(r"<h2>(.*?)</h2>", text)
    of_league = next(q for q in QUESTIONS if q.places[0].suite == "uci")
    first = f"profile league: {of_league.data}, settings searched"
    assert next(h for h in headings if "profile" in h) == f"{labels.suite('uci')}, {first}"
    asked = [": " in heading for heading in headings if "profile" in heading]
    assert asked == sorted(asked, reverse=True)

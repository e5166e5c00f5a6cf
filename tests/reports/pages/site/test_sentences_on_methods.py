"""Numbers in the generated sentences of methods' pages, recomputed from records."""

import re

import numpy as np
import pandas as pd
import pytest

from bnnbench.reports.pages.drilldown.run_pages import run_addresses
from bnnbench.reports.pages.methods.failures import Entry, failures_of, verdicts_of
from bnnbench.reports.pages.methods.method_pages import Site, entries_of, method_page
from bnnbench.reports.pages.methods.printed import printed_and_ours
from bnnbench.reports.pages.methods.strips import chapter_of, places_text
from bnnbench.reports.papers.verdicts import KINDS
from bnnbench.reports.style import labels
from docs.generate import finished_runs
from tests.reports.pages.site.recomputed import interval, is_rounded, means, read, table

pytestmark = pytest.mark.long

METHODS = ("AdamW", "PBP", "MP", "SWAG", "MFVI", "Ensemble fVI", "HMC", "VI")
COUNTED = re.compile(r"(\d+) of (\d+) data sets?")


@pytest.fixture(scope="module")
def verdicts():
    """The verdicts on all data sets of docs/bundle."""
    return verdicts_of(finished_runs.suites())


def failures(method, verdicts, words):
    """Return the failures of a method whose condition contains these words."""
    entries = entries_of(method, finished_runs.suites())
    return [f for f in failures_of(entries, verdicts) if words in f.condition]


def gaps(entry):
    """Return mean and half-width of the confidence measure, or NaN; recomputed from records."""
    b, m = entry.benchmark, entry.method
    held = table(b, "picp_90")
    if (held.method == m).sum() > 1:
        mean, half = interval(b, held[held.method == m])
        return mean - 0.9, half, 0.01
    gains, expected = (table(b, name) for name in ("log_likelihood", "entropy"))
    if not (gains.method == m).any():
        gains = table(b, "nll").assign(value=lambda t: -t.value)
    both = gains.merge(expected, on=["method", "fold", "seed"])
    both = both[both.method == m].assign(value=lambda t: t.value_x + t.value_y)
    return (*interval(b, both), 0.01)


@pytest.mark.parametrize("method", METHODS)
def test_too_sure_and_not_sure_enough_are_counted_as_pandas_counts_them(method, verdicts):
    entries = entries_of(method, finished_runs.suites())
    found = pd.DataFrame([gaps(e) for e in entries], columns=["gap", "half", "margin"]).dropna()
    beyond = found[found.gap.abs() - found.half > found.margin]
    for words, count in (
        ("Too sure", beyond.gap.lt(0).sum()),
        ("Not sure", beyond.gap.gt(0).sum()),
    ):
        said = failures(method, verdicts, words)
        assert len(said) == (count > 0)
        for failure in said:
            assert COUNTED.search(failure.condition).groups() == (str(count), str(len(found)))
            for instance in failure.named:
                numbers = re.findall(r"(?:hold|loss|expected) (−?[\d.]+)", instance.text)
                b, m = instance.entry.benchmark, method
                if "hold" in instance.text:
                    held = table(b, "picp_90")
                    assert is_rounded(numbers[0], 100 * interval(b, held[held.method == m])[0])
                else:
                    assert is_rounded(numbers[1], means(table(b, "entropy"))[m])


@pytest.mark.parametrize("method", METHODS)
def test_worse_counts_the_states_of_tables_and_names_their_means(method, verdicts):
    for failure in failures(method, verdicts, "Worse than"):
        name = failure.condition.partition(" by ")[2]
        cells = [
            (v, v.cells[method])
            for e in entries_of(method, finished_runs.suites())
            for v in verdicts[e.suite, e.benchmark.identity]
            if labels.in_text(v.metric) == name and method in v.cells
        ]
        states = [c.standing.state for _, c in cells if not c.standing.excluded]
        count, of = map(int, COUNTED.search(failure.condition).groups())
        assert (count, of) == (states.count("worse"), len([s for s in states if s]))
        of_metric = {(v.benchmark.identity, v.benchmark.records[0].suite): v for v, _ in cells}
        for instance in failure.named:
            b = instance.entry.benchmark
            verdict = of_metric[b.identity, b.records[0].suite]
            ours = means(table(b, verdict.metric, verdict.condition)) * verdict.column.scale
            own, leader, best = re.fullmatch(
                r"(\S+)(?: %)?; (.+) has (\S+)(?: %)?", instance.text
            ).groups()
            assert is_rounded(own, ours[method])
            assert is_rounded(best, ours[leader])
            assert (read(own) < read(best)) == bool(verdict.column.higher_is_better)


def test_runs_that_did_not_end_well_and_constants_are_counted(verdicts):
    suites = finished_runs.suites()
    every = {m for bs in suites.values() for b in bs for m in b.runs}
    told = 0
    for method in sorted(every):
        entries = entries_of(method, suites)
        runs = [run for entry in entries for run in entry.runs]
        for word, count in (
            ("diverged", sum(r.outcome.status == "diverged" for r in runs)),
            ("did not converge", sum(r.outcome.status == "completed"
                  and r.outcome.diagnostics.get("converged") == 0 for r in runs)),
        ):  # fmt: skip
            said = failures(method, verdicts, word)
            assert [f.condition.split(" run")[0] for f in said] == [
                f"{count} of {len(runs)}"
            ] * bool(count)
            told += len(said)
        for failure in failures(method, verdicts, "constant prediction"):
            for instance in failure.named:
                metric, own, constant, other = re.fullmatch(
                    r"(log likelihood|NLL) (\S+); (.+) has (\S+)", instance.text
                ).groups()
                name = {"log likelihood": "log_likelihood", "NLL": "nll"}[metric]
                of = means(table(instance.entry.benchmark, name))
                assert is_rounded(own, of[method])
                assert is_rounded(other, of[constant])
                assert (read(own) < read(other)) == (name == "log_likelihood")
                told += 1
    assert told > 20


def test_a_title_says_settings_searched_where_methods_are_tuned():
    said = set()
    for suite, benchmarks in finished_runs.suites().items():
        for b in benchmarks:
            tuned = any(r.run["method"]["type"] == "tuned" for r in b.records)
            for method in b.runs:
                title = Entry(suite, b, method).title
                assert title.endswith("settings searched)") == tuned, title
            said.add(tuned)
    assert said == {True, False}


def assert_is_of_all_sets(text, ranks, method):
    """Assert that the text has the method's mean place, and its best and worst places."""
    places = {t: (int(r[method]), len(r)) for t, r in ranks.items() if method in r}
    assert is_rounded(
        re.match(r"mean place (\S+);", text)[1], np.mean([p for p, _ in places.values()])
    )
    named = {t for t, (place, of) in places.items() if f"{t} ({place} of {of})" in text}
    assert len(re.findall(r"\(\d+ of \d+\)", text)) == 6 <= len(named) + 3
    assert {min(places.values())[0], max(places.values())[0]} <= {places[t][0] for t in named}


@pytest.mark.parametrize("method", METHODS)
def test_places_and_strips_are_ranks_of_means(method):
    for task in finished_runs.tasks():
        of_scale = {scale.title: scale for scale in task.scales}
        text = places_text(task, method) if method in task.families else ""
        ranks = {}
        for scale in task.scales:
            for column in task.columns:
                # Equal means differ by the order of their sum.
                scores = {m: np.mean(list(by.values())).round(12) for m, by in
                          task.scores[scale.name][column.name].items()
                          if m not in task.constants}  # fmt: skip
                ranks[scale.title, column.title] = pd.Series(scores).rank(
                    ascending=not scale.up, method="min"
                )
        if text:
            most = max(len(ranked) for ranked in ranks.values())
            assert text.startswith(f"Places among {most} method")
        for title in dict.fromkeys(title for title, _ in ranks) if text else ():
            of_title = [ranked for (t, _), ranked in ranks.items() if t == title]
            places = [int(ranked[method]) for ranked in of_title if method in ranked]
            if places:
                ends = re.search(rf"{title} (\d+)(?: to (\d+))?", text).groups()
                best, worst = (int(end or ends[0]) for end in ends)
                assert (best, worst) == (min(places), max(places))
        if not text:
            continue
        for title, strips in chapter_of(task, method).strips.items():
            for strip in strips:
                if not strip.dataset:
                    of_title = {t: r for (by, t), r in ranks.items() if by == title}
                    assert_is_of_all_sets(strip.text, of_title, method)
                    continue
                place, of, own = re.match(r"(\d+) of (\d+): (−?[\d.]+)", strip.text).groups()
                ranked = ranks[title, strip.title]
                assert (int(place), int(of)) == (int(ranked[method]), len(ranked))
                scale = of_scale[title]
                (column,) = (c for c in task.columns if c.title == strip.title)
                mean = np.mean(list(task.scores[scale.name][column.name][method].values()))
                percent = 100 if scale.scale == 100 and not scale.ratio else 1
                assert is_rounded(own, percent * mean)


@pytest.mark.parametrize("method", METHODS)
def test_printed_numbers_are_counted_and_stand_beside_our_means(method):
    printed = printed_and_ours(method, finished_runs.printed_tables())
    verdicts_ = pd.Series([line.verdict.partition(" (")[0] for line in printed.lines], dtype=str)
    words = {"not comparable": "cannot be compared", "departs": "differs, protocol departs"}
    counted = {kind: int((verdicts_ == words.get(kind, kind)).sum()) for kind in KINDS}
    assert sum(counted.values()) == len(printed.lines)
    said = [
        int(n) for s in printed.sentences for n in re.findall(r"(?:of|all) (\d+) comparable", s)
    ]
    said += [2 for s in printed.sentences if "both comparable" in s]
    said += [1 for s in printed.sentences if "the only comparable" in s]
    kinds = ("not comparable", "cannot be met")
    assert sum(said) == len(printed.lines) - sum(counted[kind] for kind in kinds)
    for kind in kinds:
        text = rf"(\d+) {words.get(kind, kind)}"
        apart = [int(n) for s in printed.sentences for n in re.findall(text, s)]
        assert sum(apart) == counted[kind]


def test_the_page_has_these_sentences(verdicts):
    suites = finished_runs.suites()
    site = Site(suites, finished_runs.tasks(), run_addresses(suites), verdicts,
                finished_runs.printed_tables())  # fmt: skip
    page = method_page("PBP", "methods/pbp.html", site, {"methodPages": [], "search": []})
    for failure in failures("PBP", verdicts, ""):
        assert f"<strong>{failure.condition}.</strong>" in page
        assert all(instance.text in page for instance in failure.named)
    for sentence in printed_and_ours("PBP", site.printed).sentences:
        assert sentence in page

"""Generated parts of the documents, from docs/bundle and code: `python -m docs.generate.tables`.

A document requests a part in a comment; the lines up to the end comment are replaced:

    <!-- scores bundle=cifar10_tuned dataset=cifar10 condition=clean metrics=nll,accuracy -->
    <!-- end -->

`scores`: mean and standard error over folds, or over seeds if there is one fold, the best first by
the first metric; `methods=` names some. `across`: one metric, with a column for each data set or
condition. `differences` and `pairs`: paired differences of one method from others over folds, with
95 % intervals. `csv`: rows of a file. `costs`: costs of fits, by method and device. A value in a
sentence stands in one line, after `<!-- value bundle=... method=... metric=... -->`
(`measured.py`); a count of methods after
`<!-- value suite=... dataset=... metric=... count=worse -->`, or `count=compared`
(`one_column.py`).
`oracles`: scores over the known data distribution.
`diagnostics`: diagnostics of fits, means and standard errors over runs.
`printed`: tables of a paper, ours with the printed number in brackets (`printed.py`); `layers`:
tables of paper 001, by layer; `probed`: our measurements there; `outputs`: measurements for one
image; `neighbour`: a printed table with the scores of another network before its numbers;
`logistic_unit`: divergences of one unit's approximations.
`coverage` and `covered`: how many printed numbers agree, as a table and in words; `departures`:
how our protocols depart from the papers'.
`scales`: printed errors divided by ours on two scales, where a paper does not state its scale
(`scales.py`).
`audit`, `comparisons`, `aside`: our methods compared with other libraries' (`audited.py`).
`places`, `edges`, `longer`: places by mean before and after a search, choices on the edge of their
space, and fits longer than the chosen one (`searched.py`).
`standings`: one method's place on every data set, and its difference from the best
(`standings.py`).
`literature`: our methods compared with published scores of the same folds (`beside_others.py`).
`answers`: the board's answer to each question, by one criterion; `headlines`: the first answer of
each kind in words (`front_page.py`). `before_after` and `changed`: each question's headline by the
best mean and by its grade, as a table and in words (`before_after.py`). `regrets` and `worth`: what
advice is worth on data sets that it has not seen, for a kind of question, as a table and in words.
`verdict`, `league`, `rules`: a
profile's decision over data sets in words, its places, and the same decision by several scores
(`over_sets.py`). `sizes`, `size_differences` and `orders`: shares of the gap after learning from
fewer rows of the same tables (`by_size.py`). `column`: one column of a table of the report, with
its decision (`one_column.py`).
`repeated`, `apart`, `repetitions`: repeated runs (`repeated.py`).
`folders`: the folders of docs/bundle (`bundled.py`).
`methods`: a card for each method (`cards.py`).
`metrics`: all metrics (`formulary.py`).
"""

import functools
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

from bnnbench.reports.judge.over_sets.tables import ADVICE
from bnnbench.reports.judge.over_sets.worth import Worth
from bnnbench.reports.pages.site.answers import Answer, answer_to
from bnnbench.reports.pages.site.board_pages import usual
from bnnbench.reports.pages.site.tasks import Task
from bnnbench.reports.pages.site.worth import worth_of
from bnnbench.reports.read.predictions.oracles import oracle_comparison
from bnnbench.reports.sections.suites.oracles import HEADINGS, row
from bnnbench.reports.style import labels
from docs.generate.audited import aside_table, comparisons_table, summary_table
from docs.generate.before_after import before_after_table, before_after_text
from docs.generate.by_size import orders_table, size_differences_table, sizes_table
from docs.generate.cards import cards
from docs.generate.finished_runs import ROOT, suites, tasks
from docs.generate.formulary import formulary
from docs.generate.measured import (
    Options,
    across_table,
    costs_of,
    costs_table,
    csv_table,
    differences_table,
    pairs_table,
    scores_table,
    seconds,
    value_text,
)
from docs.generate.over_sets import headlines_table, places_over_sets, rules_table, verdict_text
from docs.generate.papers import literature_table, logistic_unit_table, scales_table
from docs.generate.printed import (
    coverage_table,
    coverage_text,
    departures_table,
    layers_table,
    neighbour_table,
    printed_table,
)
from docs.generate.probed import of_runs, outputs_table, probed_table
from docs.generate.repeated import apart_table, folders_table, repeated_table, repeated_text
from docs.generate.searched import edges_table, longer_table, places_table
from docs.generate.standings import column_table, column_text, count_text, standings_table

DOCUMENTS = (
    *("README.md", "docs/bundle/README.md"),
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").glob("*.md"))),
)
BLOCK = re.compile(r"<!-- (?!end)(\w+) ?([^>]*) -->\n(.*?)<!-- end -->\n", re.DOTALL)
VALUE = re.compile(r"<!-- value ([^>]*) -->(.*?)<!-- end -->", re.DOTALL)


def rewritten(text: str) -> str:
    """Return the text of a document with all its tables, and values in sentences, regenerated."""
    return VALUE.sub(_value, BLOCK.sub(_block, text))


def _value(match: re.Match[str]) -> str:
    options = dict(word.split("=", 1) for word in shlex.split(match[1]))
    text = count_text(options) if "count" in options else value_text(options)
    return f"<!-- value {match[1]} -->{text}<!-- end -->"


def _block(match: re.Match[str]) -> str:
    kind, words, _ = match.groups()
    return _made(kind, words)


@functools.cache
def _made(kind: str, words: str) -> str:
    options = dict(word.split("=", 1) for word in shlex.split(words))
    if kind in TABLES:
        text = "".join(f"| {' | '.join(cells)} |\n" for cells in TABLES[kind](options))
    else:
        text = TEXTS[kind](options)
    return f"<!-- {' '.join(filter(None, (kind, words)))} -->\n\n{text}\n<!-- end -->\n"


def oracles_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule, a row for the exact posterior and one for each method."""
    (found,) = (
        comparison
        for benchmark in suites()["truth"]
        if benchmark.records[0].dataset == options["dataset"]
        and (comparison := oracle_comparison(benchmark))
    )
    seconds_of = costs_of(options)
    yield HEADINGS[0].lower(), *HEADINGS[2:], "CPU s"
    yield ("---", *("---:" for _ in HEADINGS[1:]))
    for standing in (found.exact, *found.standings):
        method, _, *cells = row(standing, found.exact)
        yield method, *cells, seconds(seconds_of.get(method))


def answers_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each question of the board."""
    yield ("task", "data", "answer", "methods", "worse", "without one set", "first in redraws")
    yield ("---", "---", "---", "---:", "---:", "---:", "---:")
    by_question: dict[tuple[str, str], list[Task]] = {}
    for task in tasks():
        by_question.setdefault((task.question.kind, task.question.data), []).append(task)
    for (kind, data), alike in by_question.items():
        task = usual(alike)
        answer = answer_to(task, task.scales[0].name)
        yield kind, f"{data}; settings {answer.settings}", *_answer_row(answer)


def _answer_row(answer: Answer) -> tuple[str, ...]:
    share = "" if answer.share is None else f"{100 * answer.share:.0f} %"
    counts = (str(answer.methods), str(answer.worse), answer.worse_without_one, share)
    return answer.headline.removesuffix("."), *counts


def regrets_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each kind of advice, for a kind of question."""
    task, worth = _worth(options)
    yield tuple(text.format(unit=task.scales[0].unit) for text in ADVICE)
    yield tuple("---" for _ in ADVICE)
    yield from worth.rows


def worth_text(options: Options) -> str:
    """Return what advice on a kind of question is worth."""
    return f"{_worth(options)[1].text}\n"


def _worth(options: Options) -> tuple[Task, Worth]:
    """Return the first question of a kind with a decision over data sets."""
    of_kind = (task for task in tasks() if task.question.kind == options["kind"])
    return next((task, worth) for task in of_kind if (worth := worth_of(task, task.scales[0].name)))


def diagnostics_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each data set; a column is a method."""
    methods, names = options["methods"].split(","), options["names"].split(",")
    values: dict[tuple[str, str, str], list[float]] = {}
    for benchmark in suites()[options["suite"]]:
        for record in benchmark.records:
            if record.profile == options["profile"] and record.method in methods:
                for name in names:
                    place = (benchmark.dataset, record.method, name)
                    values.setdefault(place, []).append(record.outcome.diagnostics[name])
    columns = [(method, name) for method in methods for name in names]
    several = len(names) > 1
    heads = [f"{m}, {labels.in_text(n)}" if several else m for m, n in columns]
    yield ("", *heads)
    yield ("---", *("---:" for _ in columns))
    for dataset in dict.fromkeys(dataset for dataset, *_ in values):
        cells = (values.get((dataset, *column), []) for column in columns)
        yield dataset.replace("_", " "), *(of_runs(cell) for cell in cells)


TABLES: Mapping[str, Callable[[Options], Iterable[tuple[str, ...]]]] = {
    "scores": scores_table,
    "costs": costs_table,
    "across": across_table,
    "differences": differences_table,
    "pairs": pairs_table,
    "csv": csv_table,
    "oracles": oracles_table,
    "literature": literature_table,
    "places": places_table,
    "edges": edges_table,
    "longer": longer_table,
    "answers": answers_table,
    "headlines": headlines_table,
    "before_after": before_after_table,
    "regrets": regrets_table,
    "league": places_over_sets,
    "rules": rules_table,
    "sizes": sizes_table,
    "size_differences": size_differences_table,
    "orders": orders_table,
    "column": column_table,
    "printed": printed_table,
    "layers": layers_table,
    "neighbour": neighbour_table,
    "probed": probed_table,
    "outputs": outputs_table,
    "logistic_unit": logistic_unit_table,
    "coverage": coverage_table,
    "scales": scales_table,
    "departures": departures_table,
    "diagnostics": diagnostics_table,
    "audit": summary_table,
    "comparisons": comparisons_table,
    "aside": aside_table,
    "standings": standings_table,
    "repeated": repeated_table,
    "apart": apart_table,
    "folders": folders_table,
}
TEXTS: Mapping[str, Callable[[Options], str]] = {
    "decision": column_text,
    "worth": worth_text,
    "changed": before_after_text,
    "verdict": verdict_text,
    "covered": coverage_text,
    "repetitions": repeated_text,
    "methods": lambda options: cards(),
    "metrics": lambda options: formulary(),
}


def main() -> None:
    """Rewrite the documents."""
    for name in sys.argv[1:] or DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if (new := rewritten(text)) != text:
            path.write_text(new, encoding="utf-8")
            print(f"{name}: tables regenerated")


if __name__ == "__main__":
    main()

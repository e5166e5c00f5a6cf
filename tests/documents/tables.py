"""What documents have from docs/bundle and from the code: `python -m tests.documents.tables`.

A document asks for it in a comment, and the lines up to the end comment are replaced:

    <!-- scores bundle=cifar10_tuned dataset=cifar10 condition=clean metrics=nll,accuracy -->
    <!-- end -->

`scores`: mean and standard error over folds, or over seeds where there is one fold, the best first
by the first metric; `methods=` names some. `differences`: paired differences of one method from
others over folds, with 95 % intervals. `oracles`: scores over the law behind the targets.
`diagnostics`: what fits say of themselves, means and standard errors over runs.
`printed`: tables of a paper, ours with the printed number in brackets (`printed.py`); `layers`:
those of paper 001, by layer; `probed`: our measurements there. `coverage` and `covered`: how many
printed numbers agree, as a table and in words.
`audit`, `comparisons`, `aside`: our methods beside those of other libraries (`audited.py`).
`answers`: what the board says to each question, by one criterion; with `each=kind`, to the one of
each kind with most methods. `column`: one column of a table of the report, with its decision
(`one_column.py`).
`methods`: a card for each method (`cards.py`).
`metrics`: all metrics (`formulary.py`).
"""

import functools
import math
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import pandas as pd
from scipy import stats

from bnnbench.metrics import LISTED
from bnnbench.reports.board.advice import advice
from bnnbench.reports.board.ranking import ranked
from bnnbench.reports.board.site import usual
from bnnbench.reports.board.tasks import Task
from bnnbench.reports.read.frames import costs, results
from bnnbench.reports.read.oracles import oracle_comparison
from bnnbench.reports.sections.of_suites.oracles import HEADINGS, row
from bnnbench.reports.style import labels
from tests.documents.audited import aside_table, comparisons_table, summary_table
from tests.documents.cards import cards
from tests.documents.finished_runs import BUNDLE, ROOT, suites, tasks
from tests.documents.formulary import formulary
from tests.documents.one_column import column_table, column_text
from tests.documents.printed import coverage_table, coverage_text, layers_table, printed_table

DOCUMENTS = ("README.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").glob("*.md"))))
BLOCK = re.compile(r"<!-- (?!end)(\w+) ?([^>]*) -->\n(.*?)<!-- end -->\n", re.DOTALL)

Options = Mapping[str, str]


def rewritten(text: str) -> str:
    """Return the text of a document with all its tables made anew."""
    return BLOCK.sub(_block, text)


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


def scores_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each method."""
    metrics = options["metrics"].split(",")
    table = _selected(options)
    by_metric = {m: table[table.metric == m].groupby("method")["value"] for m in metrics}
    first = by_metric[metrics[0]].mean()
    down = LISTED[metrics[0]].higher_is_better
    seconds_of = _costs(options)
    yield ("method", *map(labels.metric, metrics), "runs", "CPU s")
    yield ("---", *("---:" for _ in metrics), "---:", "---:")
    for method in first.sort_values(ascending=not down).index:
        cells = [_mean(table[(table.metric == m) & (table.method == method)]) for m in metrics]
        runs = len(by_metric[metrics[0]].get_group(method))
        yield (method, *cells, str(runs), _seconds(seconds_of.get(method)))


def differences_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each rival and metric."""
    own, seconds_of = options["of"], _costs(options)
    yield ("rival", "score", "difference", "better on", "CPU s")
    yield ("---", "---", "---:", "---:", "---:")
    table = _selected(options)
    for metric in options["metrics"].split(","):
        sign = 1 if LISTED[metric].higher_is_better else -1
        wide = table[table.metric == metric].pivot_table(
            index="fold", columns="method", values="value"
        )
        for rival in options["rivals"].split(","):
            gaps = (wide[own] - wide[rival]).dropna()
            better = f"{int((sign * gaps > 0).sum())} of {len(gaps)}"
            seconds = f"{_seconds(seconds_of.get(own))} and {_seconds(seconds_of.get(rival))}"
            yield rival, labels.metric(metric), _interval(gaps), better, seconds


def oracles_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule, a row for the exact posterior and one for each method."""
    (found,) = (
        comparison
        for benchmark in suites()["truth"]
        if benchmark.records[0].dataset == options["dataset"]
        and (comparison := oracle_comparison(benchmark))
    )
    seconds_of = _costs(options)
    yield HEADINGS[0].lower(), *HEADINGS[2:], "CPU s"
    yield ("---", *("---:" for _ in HEADINGS[1:]))
    for standing in (found.exact, *found.standings):
        method, _, *cells = row(standing, found.exact)
        yield method, *cells, _seconds(seconds_of.get(method))


def answers_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each question of the board.

    With `each=kind`, only for the question of each kind that most methods took part in.
    """
    yield ("what for", "from", "answer", "methods", "cannot be told from the best", "worse")
    yield ("---", "---", "---", "---:", "---:", "---:")
    by_question: dict[tuple[str, str], list[Task]] = {}
    for task in tasks():
        by_question.setdefault((task.question.kind, task.question.data), []).append(task)
    rankings = {}
    for question, alike in by_question.items():
        task = usual(alike)
        rankings[question] = task, ranked(task, task.scales[0].name)
    if options.get("each") == "kind":
        by_size = sorted(rankings, key=lambda question: -len(rankings[question][1].compared))
        chosen = {kind: (kind, data) for kind, data in reversed(by_size)}.values()
        rankings = {question: found for question, found in rankings.items() if question in chosen}
    for (kind, data), (task, ranking) in rankings.items():
        methods = [ranking.compared, ranking.of("undecided"), ranking.of("worse")]
        counts = [str(len(found)) for found in methods]
        words = advice(ranking).headline.removesuffix(".")
        yield kind, f"{data}; settings {task.question.settings}", words, *counts


def diagnostics_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each data set; a column is of a method."""
    methods, names = options["methods"].split(","), options["names"].split(",")
    values: dict[tuple[str, str, str], list[float]] = {}
    for benchmark in suites()[options["suite"]]:
        for record in benchmark.records:
            if record.profile == options["profile"] and record.method in methods:
                for name in names:
                    place = (benchmark.dataset, record.method, name)
                    values.setdefault(place, []).append(record.diagnostics[name])
    columns = [(method, name) for method in methods for name in names]
    several = len(names) > 1
    heads = [f"{m}, {labels.in_text(n)}" if several else m for m, n in columns]
    yield ("", *heads)
    yield ("---", *("---:" for _ in columns))
    for dataset in dict.fromkeys(dataset for dataset, *_ in values):
        cells = (values.get((dataset, *column), []) for column in columns)
        yield dataset.replace("_", " "), *(_of_runs(cell) for cell in cells)


def probed_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each network and method; a column is a layer."""
    metric, methods = options["metric"], options["methods"].split(",")
    rows: dict[tuple[str, str], dict[str, list[float]]] = {}
    for benchmark in suites()[options["suite"]]:
        for record in benchmark.records:
            if record.profile == options["profile"] and record.method in methods:
                for condition, scores in record.scores.items():
                    if metric in scores:
                        row = rows.setdefault((benchmark.dataset, record.method), {})
                        row.setdefault(condition, []).append(scores[metric])
    layers = list(dict.fromkeys(condition for row in rows.values() for condition in row))
    yield ("network", "", *(layer.removeprefix("layer_").replace("_", " ") for layer in layers))
    yield ("---", "---", *("---:" for _ in layers))
    for (dataset, method), row in rows.items():
        name = dataset.split("-", 1)[1].replace("_", " ").replace("-", ", ")
        yield name, method, *(_of_runs(row.get(layer, [])) for layer in layers)


def _of_runs(values: list[float]) -> str:
    if not values:
        return ""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{np.mean(values):.3g} ± {error:.1g}" if error else f"{np.mean(values):.3g}"


TABLES: Mapping[str, Callable[[Options], Iterable[tuple[str, ...]]]] = {
    "scores": scores_table,
    "differences": differences_table,
    "oracles": oracles_table,
    "answers": answers_table,
    "column": column_table,
    "printed": printed_table,
    "layers": layers_table,
    "probed": probed_table,
    "coverage": coverage_table,
    "diagnostics": diagnostics_table,
    "audit": summary_table,
    "comparisons": comparisons_table,
    "aside": aside_table,
}
TEXTS: Mapping[str, Callable[[Options], str]] = {
    "decision": column_text,
    "covered": coverage_text,
    "methods": lambda options: cards(),
    "metrics": lambda options: formulary(),
}


@functools.cache
def _results(bundle: str) -> pd.DataFrame:
    return results(BUNDLE / bundle)


@functools.cache
def _costs_of_runs(bundle: str) -> pd.DataFrame:
    return costs(BUNDLE / bundle)


def _selected(options: Options) -> pd.DataFrame:
    table = _results(options["bundle"])
    for name in ("profile", "dataset", "condition"):
        if name in options:
            table = table[table[name] == options[name]]
    if "methods" in options:
        table = table[table["method"].isin(options["methods"].split(","))]
    if table.empty:
        raise ValueError(f"no score in docs/bundle for {dict(options)}")
    return table


def _costs(options: Options) -> pd.Series:
    """Return method → mean processor seconds of a fit, with its search; NaN if not recorded."""
    table = _costs_of_runs(options["bundle"])
    for name in ("profile", "dataset"):
        if name in options:
            table = table[table[name] == options[name]]
    return table.groupby("method")["fit_cpu_seconds"].mean()


def _seconds(value: float | None) -> str:
    return "unknown" if value is None or math.isnan(value) else f"{value:.3g}"


def _mean(runs: pd.DataFrame) -> str:
    by_fold = runs.groupby("fold")["value"].mean()
    values = by_fold if len(by_fold) > 1 else runs["value"]
    error = values.std() / len(values) ** 0.5
    return f"{values.mean():.3f} ± {error:.3f}" if len(values) > 1 else f"{values.mean():.3f}"


def _interval(gaps: pd.Series) -> str:
    half = stats.t.ppf(0.975, len(gaps) - 1) * gaps.std() / np.sqrt(len(gaps))
    return f"{gaps.mean():+.4f} ± {half:.4f}"


def main() -> None:
    """Rewrite the documents."""
    for name in sys.argv[1:] or DOCUMENTS:
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if (new := rewritten(text)) != text:
            path.write_text(new, encoding="utf-8")
            print(f"{name}: tables made anew")


if __name__ == "__main__":
    main()

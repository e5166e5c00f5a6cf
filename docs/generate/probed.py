"""Moments propagated through networks compared with samples, by layer and output, for documents."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bnnbench.reports.papers.published import table as numbers_of
from bnnbench.reports.sections.suites.outputs import outputs_of
from docs.generate.finished_runs import suites

Rows = dict[tuple[str, str], dict[str, list[float]]]
"""Data set and method → condition → one value per run."""


def probed_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each network and method; a column is a layer.

    `profile`, `methods` and `datasets` are names separated by commas. `printed` is a method of
    table 2 of paper 001, whose numbers are shown below ours.
    """
    methods, profiles = options["methods"].split(","), options["profile"].split(",")
    rows: Rows = {}
    depths: dict[str, int] = {}
    for benchmark in suites()[options["suite"]]:
        if benchmark.dataset not in options.get("datasets", benchmark.dataset).split(","):
            continue
        for record in benchmark.records:
            if record.profile in profiles and record.method in methods:
                for condition, scores in record.outcome.scores.items():
                    if options["metric"] in scores:
                        row = rows.setdefault((benchmark.dataset, record.method), {})
                        row.setdefault(condition, []).append(scores[options["metric"]])
                        depths[condition] = record.circumstances.condition_traits[condition].get(
                            "layer", 0
                        )
    datasets = list(dict.fromkeys(dataset for dataset, _ in rows))
    if "printed" in options:
        rows |= _printed(datasets, options["printed"], options["metric"])
    layers = sorted(depths, key=lambda condition: (depths[condition], condition))
    yield ("network", "", *(layer.removeprefix("layer_").replace("_", " ") for layer in layers))
    yield ("---", "---", *("---:" for _ in layers))
    places = {method: place for place, method in enumerate([*methods, "printed"])}
    order = sorted(rows, key=lambda row: (datasets.index(row[0]), places[row[1]]))
    for dataset, method in order:
        row = rows[dataset, method]
        name = dataset.split("-", 1)[1].replace("_", " ").replace("-", ", ")
        yield name, method, *(of_runs(row.get(layer, [])) for layer in layers)


def outputs_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each output of one network for one image.

    A row has the 5 %, 50 % and 95 % quantiles of samples and the methods' means ± deviations.
    """
    methods, seed = options["methods"].split(","), int(options["seed"])
    (outputs,) = (
        found[seed]
        for benchmark in suites()[options["suite"]]
        if (found := outputs_of(benchmark, methods))
    )
    yield ("output", "samples", *methods)
    yield ("---", "---:", *("---:" for _ in methods))
    for output in outputs:
        low, middle, high = np.interp((0.05, 0.5, 0.95), output.levels, output.quantiles)
        cells = [
            _minus(f"{mean:.2f}" + ("" if std is None else f" ± {std:.2f}"))
            for mean, std in (output.moments[method] for method in methods)
        ]
        yield str(output.number), _minus(f"{middle:.2f} ({low:.2f} to {high:.2f})"), *cells


def _minus(text: str) -> str:
    return text.replace("-", "−")


def of_runs(values: Sequence[float]) -> str:
    """Return the mean of the runs' values with its standard error; "" without any."""
    if not values:
        return ""
    error = np.std(values, ddof=1) / len(values) ** 0.5 if len(values) > 1 else 0.0
    return f"{np.mean(values):.3g} ± {error:.1g}" if error else f"{np.mean(values):.3g}"


def _printed(datasets: Sequence[str], method: str, metric: str) -> Rows:
    rows: Rows = {}
    for one in numbers_of("001", "2"):
        if one.dataset in datasets and (one.method, one.metric) == (method, metric):
            rows.setdefault((one.dataset, "printed"), {})[str(one.condition)] = [one.value]
    return rows

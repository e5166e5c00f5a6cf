"""For documents: scores published by others, a logistic unit, and the scale of printed errors."""

from collections.abc import Iterator, Mapping

import numpy as np

from bnnbench.reports.pages.site.logistic_unit import BIASES, COUNTS
from bnnbench.reports.papers.coverage import Printed
from bnnbench.reports.papers.literature import SOURCES
from bnnbench.reports.papers.logistic_unit import APPROXIMATIONS, SAMPLES, LogisticUnit
from bnnbench.reports.papers.scales import Sizes, is_known
from bnnbench.reports.sections.literature import comparison
from docs.generate.finished_runs import printed_tables, suites

Options = Mapping[str, str]
HEADINGS = ("data set", "method", "ours", "theirs", "ours minus theirs", "folds", "ours is")


def literature_table(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each data set and method of a UCI profile.

    The scores are of one metric. Differences are paired by fold, with 95 % intervals that allow for
    the overlap of training sets.
    """
    methods, metrics = options["methods"].split(","), [options["metric"]]
    yield HEADINGS
    yield ("---", "---", *("---:" for _ in HEADINGS[2:-1]), "---")
    for benchmark in suites()["uci"]:
        if benchmark.profile == options["profile"]:
            for source in SOURCES:
                for method, _, *cells in comparison(benchmark, source, methods, metrics):
                    name = benchmark.dataset.replace("_", " ")
                    yield name, method, *(cell.replace("-", "−") for cell in cells)


def logistic_unit_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row of largest divergences for each number of inputs."""
    trials = f"{SAMPLES} samples"
    yield ("inputs", *APPROXIMATIONS, f"{trials}, mean", f"{trials}, 95 %")
    yield ("---:", *("---:" for _ in range(len(APPROXIMATIONS) + 2)))
    for count in COUNTS:
        unit = LogisticUnit(count, BIASES)
        sampled = unit.sampled_divergences()
        largest = [
            *(unit.divergence(name).max() for name in APPROXIMATIONS),
            sampled.mean(0).max(),
            np.quantile(sampled, 0.95, axis=0).max(),
        ]
        yield str(count), *(f"{bits:.2g}" for bits in largest)


SCALE_HEADINGS = (
    "",
    "std of the target",
    "methods",
    "printed",
    "printed / ours",
    "the same, std units",
)


def scales_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each data set of a printed table.

    Ours are of one `profile`; doubtful numbers are left out. Raises ValueError if the check
    contradicts `scales.IN_UNITS`.
    """
    yield SCALE_HEADINGS
    yield ("---", *("---:" for _ in SCALE_HEADINGS[1:]))
    for dataset, numbers in _by_dataset(options).items():
        printed = [n.published.value for n in numbers]
        sizes = Sizes(
            _std(dataset, options["profile"]), [(n.published.value, n.ours) for n in numbers]
        )
        if sizes.holds != is_known(options["paper"], options["table"], dataset):
            raise ValueError(f"the check of scale contradicts what is declared of {dataset}")
        yield (
            dataset,
            f"{sizes.std:.3f}",
            str(len(numbers)),
            f"{min(printed):.3f} to {max(printed):.3f}",
            f"{sizes.in_units:.2f}",
            f"{sizes.in_deviations:.2f}",
        )


def _by_dataset(options: Mapping[str, str]) -> dict[str, list[Printed]]:
    """Return data set → its undoubted printed numbers with ours."""
    found: dict[str, list[Printed]] = {}
    for table in printed_tables(profile=options["profile"]):
        if (table.paper, table.number) != (options["paper"], options["table"]):
            continue
        for number in table.numbers:
            if number.judgement and "UNCERTAIN" not in number.published.note:
                found.setdefault(number.published.dataset, []).append(number)
    return found


def _std(dataset: str, profile: str) -> float:
    """Return the standard deviation of a target, averaged over training splits."""
    runs = [
        record
        for found in suites().values()
        for benchmark in found
        for record in benchmark.records
        if (record.dataset, record.profile) == (dataset, profile)
    ]
    stds = [float(str(record.circumstances.facts["target_std"])) for record in runs]
    return sum(stds) / len(stds)

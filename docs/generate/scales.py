"""The check of the scale of printed errors, for documents."""

from collections.abc import Iterator, Mapping

from bnnbench.reports.papers.coverage import Printed
from bnnbench.reports.papers.scales import Sizes, is_known
from docs.generate.finished_runs import printed_tables, suites

HEADINGS = ("", "std of the target", "methods", "printed", "printed / ours", "the same, std units")


def scales_table(options: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Yield the heading, the rule and a row for each data set of a printed table.

    Ours are of one `profile`; doubtful numbers are left out. Raises ValueError if the check
    contradicts `scales.IN_UNITS`.
    """
    yield HEADINGS
    yield ("---", *("---:" for _ in HEADINGS[1:]))
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

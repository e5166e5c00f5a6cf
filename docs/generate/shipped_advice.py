"""The board's advice for new tables from docs/bundle: `python -m docs.generate.shipped_advice`.

For each kind of question, the first with a decision over data sets is shipped.
"""

import csv
import io
from collections.abc import Iterator

from bnnbench.reports.judge.over_sets.worth import COLUMNS, TABLE
from bnnbench.reports.pages.site.answers import answer_to
from bnnbench.reports.pages.site.worth import worth_of
from docs.generate.finished_runs import tasks

KINDS = ("regression", "classification")


def table() -> str:
    """Return the table as text."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows())
    return file.getvalue()


def _rows() -> Iterator[tuple[object, ...]]:
    for kind in KINDS:
        for task in tasks():
            criterion = task.scales[0].name
            if task.question.kind == kind and (worth := worth_of(task, criterion)):
                headline = answer_to(task, criterion).headline
                yield kind, len(task.columns), headline, worth.text
                break


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")

"""The table of shipped costs from docs/bundle: `python -m docs.generate.shipped_costs`."""

import csv
import io
from collections.abc import Iterator
from statistics import median

from bnnbench.commands.planning.shipped_costs import COLUMNS, TABLE, epochs_in
from bnnbench.engine.records.record import Record
from bnnbench.reports.read.devices import gpu
from docs.generate.finished_runs import suites

KEY = ("suite", "profile", "dataset", "method")


def table() -> str:
    """Return the table as text."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows())
    return file.getvalue()


def _rows() -> Iterator[tuple[object, ...]]:
    runs: dict[tuple[str, ...], list[Record]] = {}
    for r in (r for found in suites().values() for benchmark in found for r in benchmark.records):
        if r.cost and r.outcome.status == "completed" and r.external is None and not gpu(r):
            runs.setdefault(tuple(getattr(r, name) for name in KEY), []).append(r)
    for key, of in sorted(runs.items()):
        costs = [r.cost for r in of if r.cost]
        seconds = [
            (c.fit_seconds if c.fit_cpu_seconds is None else c.fit_cpu_seconds)
            + (c.predict_seconds if c.predict_cpu_seconds is None else c.predict_cpu_seconds)
            for c in costs
        ]
        rows = [n for r in of if isinstance(n := r.circumstances.facts.get("train_rows"), int)]
        if rows:
            epochs = epochs_in(of[0].run.get("method"))
            most = max(c.peak_bytes for c in costs)
            yield (
                *(*key, round(median(rows)), "" if epochs is None else f"{epochs:g}"),
                *(f"{median(seconds):.3g}", f"{most:.3g}"),
            )


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")

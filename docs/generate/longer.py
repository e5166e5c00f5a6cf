"""Are chosen lengths long enough? `python -m docs.generate.longer BUNDLE … --out FILE`.

The choice of each search in the bundles is fitted again, leaving out each held-out block in turn,
for its chosen length and for four times that. The file has one row per fold, with the mean log
likelihood of the held-out rows. Test rows take no part.
"""

import argparse
import csv
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from bnnbench.engine.records.record import Record
from bnnbench.engine.store import bundles
from bnnbench.engine.store.rebuilding import rebuilt_run
from bnnbench.methods.base import Problem
from bnnbench.methods.tuning.method import Tuned, searched
from bnnbench.methods.tuning.plan import Plan
from bnnbench.methods.tuning.search import Search
from bnnbench.methods.tuning.space import space_of

TIMES = 4


@dataclass(frozen=True)
class Longer:
    """A choice and a fit of four times its length; scores in nats, on held-out rows."""

    dataset: str
    method: str
    fold: int
    length: int
    chosen: float
    longer: float


def longer(record: Record) -> Longer | None:
    """Return the comparison for the choice of a record; None for a choice without a length."""
    if record.outcome.search is None:
        return None
    search = Search.from_data(record.outcome.search)
    trial = int(record.outcome.diagnostics["chosen_trial"])
    place = search.best_lengths[trial]
    length = None if place is None else search.lengths[place]
    run = rebuilt_run(record)
    if length is None or not isinstance(run.method, Tuned):
        return None
    data = run.case.source.load(run.fold)
    plan = Plan(
        run.method.method,
        space_of(run.method.method),
        (search.settings[trial],),
        (search.places[trial],),
        (length, TIMES * length),
        len(search.rows),
        held_out_noise=bool(np.isfinite(search.noise_variance).any()),
        held_out_temperature=bool(np.isfinite(search.temperature).any()),
        halving=False,
    )
    problem = Problem(data.train, data.likelihood, run.architecture, run.prior)
    (again,) = searched(plan, [problem])
    assert again is not None
    chosen, times = again.scores[0].tolist()
    return Longer(record.dataset, record.method, record.fold, length, chosen, times)


def comparisons(
    folders: Sequence[Path], folds: int, known: Collection[tuple[str, str, int]]
) -> Iterator[Longer]:
    """Yield comparisons for the first folds of each search in the bundles, without known ones."""
    for folder in folders:
        searches = {(r.dataset, r.method, r.fold): r for r in bundles.read(folder) if r.seed == 0}
        for name, record in sorted(searches.items()):
            if name in known or record.fold >= folds or record.outcome.status != "completed":
                continue
            if row := longer(record):
                yield row


def main() -> None:
    """Add the missing comparisons to the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bundles", nargs="+", type=Path)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    known: set[tuple[str, str, int]] = set()
    if options.out.exists():
        with options.out.open(newline="", encoding="utf-8") as file:
            known = {(r["dataset"], r["method"], int(r["fold"])) for r in csv.DictReader(file)}
    with options.out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Longer)])
        if not known:
            writer.writeheader()
        for row in comparisons(options.bundles, options.folds, known):
            writer.writerow(asdict(row))
            file.flush()


if __name__ == "__main__":
    main()

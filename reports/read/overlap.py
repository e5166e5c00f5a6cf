"""The overlap of training sets of several splits."""

from collections.abc import Sequence

from bnnbench.metrics.statistics import mean
from bnnbench.suites.engine.store.record import Record


def holdout_ratio(records: Sequence[Record]) -> float | None:
    """Return the mean of test rows over train rows, None where the facts lack them.

    It measures the overlap of training sets (Nadeau and Bengio 2003). It is 0 for generated data,
    which are drawn anew for every fold, for training sets that share no row, and for active
    learning, whose repeats take few rows out of a pool.
    """
    apart = {"pool_rows", "disjoint_training_sets"}
    if records and all(apart & r.facts.keys() or r.origin == "generated" for r in records):
        return 0.0
    rows = [(r.facts.get("test_rows"), r.facts.get("train_rows")) for r in records]
    ratios = [
        test / train
        for test, train in rows
        if isinstance(test, int) and isinstance(train, int) and train > 0
    ]
    return mean(ratios) if ratios else None

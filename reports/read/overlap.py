"""The effect of rows shared by several splits on the error of a mean over splits."""

from collections.abc import Sequence

from bnnbench.engine.records.record import Record
from bnnbench.metrics.statistics import mean


def overlap_of(records: Sequence[Record]) -> float | None:
    r"""Return r such that the squared error of a mean over n splits is $s^2 (1/n + r)$.

    With a correlation ρ between the scores of two splits, r is $\rho / (1 - \rho)$. If splits
    take all rows, ρ is estimated by the share of test rows, so that r is the ratio of test to
    training rows (Nadeau and Bengio 2003). Splits that take m of N rows and leave a pool have at
    most $\rho = m/N$ (Hoeffding 1948); the smaller estimate counts. The bound does not cover rows
    chosen by looking at the whole pool; they are counted like others.

    The result is the mean over the records: 0 for generated data, which are drawn anew for every
    fold, and for disjoint training sets; None if the facts do not state the rows.
    """
    if records and all(
        "disjoint_training_sets" in r.circumstances.facts or _is_new(r) for r in records
    ):
        return 0.0
    known = [shared for r in records if (shared := _overlap(r)) is not None]
    return mean(known) if known else None


def _is_new(record: Record) -> bool:
    return record.circumstances.origin == "generated"


def _overlap(record: Record) -> float | None:
    test, train = (
        record.circumstances.facts.get("test_rows"),
        record.circumstances.facts.get("train_rows"),
    )
    if not isinstance(test, int) or not isinstance(train, int) or train < 1:
        return None
    left = record.circumstances.facts.get("pool_rows")
    if not isinstance(left, int) or left < 1:
        return test / train
    return min(test / train, (test + train) / left)

"""Check that predictions are for the rows of a fold, in their order."""

from bnnbench.datasets.base import DataSource
from bnnbench.datasets.raw_rows import RawRows, raw_rows
from bnnbench.engine.external.forms import BadPredictions
from bnnbench.engine.external.reading import HandedIn

MOST_NAMED = 3
"""Maximum number of rows named in a message."""


def check_rows(handed_in: HandedIn, source: DataSource, fold: int, export: str) -> None:
    """Raise BadPredictions unless predictions are for the test rows of the fold, in their order.

    `export` is the command that writes these rows.
    """
    known = raw_rows(source, fold)
    points = handed_in.prediction.points
    if not handed_in.rows and handed_in.rows_sha256 is None:
        raise BadPredictions(
            "the order of the predictions is unknown: copy the column row of the exported test "
            "rows, or give the digest of the export as rows_sha256 "
            f"({export})"
        )
    digest = handed_in.rows_sha256
    if digest is not None and digest != known.rows_sha256:
        raise BadPredictions(
            f"they are for rows with digest {digest[:12]}; the rows of fold {fold} have "
            f"{known.rows_sha256[:12]}: {_advice(handed_in, source, export)}"
        )
    if handed_in.rows and handed_in.rows != known.test_names:
        _compare(handed_in, known, source, fold, export)
    if points != len(known.test_names):
        raise BadPredictions(
            f"there are {points} predictions for {len(known.test_names)} test rows: predict every "
            "test row, in the exported order"
        )


def _compare(
    handed_in: HandedIn, known: RawRows, source: DataSource, fold: int, export: str
) -> None:
    given, needed = set(handed_in.rows), set(known.test_names)
    if not given & needed:
        raise BadPredictions(
            f"they are for other rows ({_some(handed_in.rows)}) than the rows of fold {fold} "
            f"({_some(known.test_names)}): {_advice(handed_in, source, export)}"
        )
    if missing := [row for row in known.test_names if row not in given]:
        raise BadPredictions(
            f"{len(missing)} of {len(needed)} test rows are missing ({_some(missing)}): predict "
            "every test row"
        )
    if others := [row for row in handed_in.rows if row not in needed]:
        raise BadPredictions(
            f"{len(others)} rows are not test rows of fold {fold} ({_some(others)}): leave them out"
        )
    pairs = zip(handed_in.rows, known.test_names, strict=True)
    place, (got, wanted) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1])
    raise BadPredictions(
        f"the rows are in another order: position {place} has row {got}, but needs {wanted}: "
        "put them, with their predictions, into the order of the exported test rows"
    )


def _advice(handed_in: HandedIn, source: DataSource, export: str) -> str:
    """Return advice for predictions of other rows: the fold that has them, if any."""
    for other in range(source.folds):
        rows = raw_rows(source, other)
        if handed_in.rows_sha256 == rows.rows_sha256 or (
            handed_in.rows and set(handed_in.rows) == set(rows.test_names)
        ):
            return f"they are for fold {other}; give --fold {other}"
    return f"export the rows again, and predict those ({export})"


def _some(rows: "tuple[str, ...] | list[str]") -> str:
    more = ", ..." if len(rows) > MOST_NAMED else ""
    return ", ".join(rows[:MOST_NAMED]) + more

"""Peculiarities of data that may distort scores: duplicates, constant and distant inputs."""

from collections.abc import Mapping, Sequence

FAR = 10.0
"""Standard deviations from the training mean beyond which an input is mentioned."""

LISTED = 12
"""Up to this many constant inputs are listed individually."""

NEEDED = ("train_rows", "test_rows", "features", "test_twins_in_train", "constant_columns")
"""Facts that the findings are derived from."""


def findings(facts: Sequence[Mapping[str, object]]) -> list[str]:
    """Return a phrase for each peculiarity of a data set, given the facts of its folds."""
    phrases = (check(facts) for check in (_unknown, _twins, _repeats, _constant, _far))
    return [phrase for phrase in phrases if phrase]


def _unknown(facts: Sequence[Mapping[str, object]]) -> str:
    missing = [name for name in NEEDED if not all(name in fold for fold in facts)]
    return f"the records do not state {_list(missing)}" if missing else ""


def _twins(facts: Sequence[Mapping[str, object]]) -> str:
    counts = twin_counts(facts)
    return f"{counts} test rows have an exact twin in training" if counts else ""


def twin_counts(facts: Sequence[Mapping[str, object]]) -> str:
    """Return the number of test rows with a twin, as "3 to 5 of 100"; "" if there are none."""
    counts = [_twin_count(fold) for fold in facts]
    rows = {n for fold in facts if isinstance(n := fold.get("test_rows"), int)}
    if not any(counts):
        return ""
    of = f" of {_number(rows.pop())}" if len(rows) == 1 else ""
    return f"{_range(counts)}{of}"


def _twin_count(fold: Mapping[str, object]) -> int:
    """Return the number of test rows with a twin; older records state only the share."""
    count = fold.get("test_twins")
    share, rows = fold.get("test_twins_in_train"), fold.get("test_rows")
    if not isinstance(count, int) and isinstance(share, (int, float)) and isinstance(rows, int):
        return round(share * rows)
    return count if isinstance(count, int) else 0


def _repeats(facts: Sequence[Mapping[str, object]]) -> str:
    counts = [n for fold in facts if isinstance(n := fold.get("train_repeats", 0), int)]
    if not any(counts):
        return ""
    return f"{_range(counts)} training rows repeat an earlier one"


def _constant(facts: Sequence[Mapping[str, object]]) -> str:
    columns = [c for fold in facts if isinstance(c := fold.get("constant_columns"), list)]
    if not any(columns):
        return ""
    count = _range([len(c) for c in columns])
    listed = {str(c) for c in columns}
    which = ": " + ", ".join(map(str, columns[0])) if len(listed) == 1 else ""
    which = which if len(columns[0]) <= LISTED else ""
    features = facts[0].get("features")
    of = f" of {_number(features)}" if isinstance(features, int) else ""
    return f"{count}{of} inputs never change in training{which}"


def _far(facts: Sequence[Mapping[str, object]]) -> str:
    names = ("largest_input_deviation_test", "largest_input_deviation_train")
    test, train = (
        max((v for fold in facts if isinstance(v := fold.get(name), (int, float))), default=0.0)
        for name in names
    )
    if test <= FAR:
        return ""
    return (
        f"a test input lies {test:.3g} training standard deviations from the mean; no training "
        f"input lies farther than {train:.3g}"
    )


def _range(counts: Sequence[int]) -> str:
    low, high = min(counts), max(counts)
    return _number(low) if low == high else f"{_number(low)} to {_number(high)}"


def _number(value: object) -> str:
    return f"{value:,}".replace(",", "\u202f") if isinstance(value, int) else str(value)


def _list(names: Sequence[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names)

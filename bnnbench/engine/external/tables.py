"""Predictions in a table, with one line per row, or per draw of each row."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from bnnbench.engine.external.forms import BadPredictions
from bnnbench.wording import did_you_mean

if TYPE_CHECKING:
    import pandas as pd

Arrays = dict[str, np.ndarray]

PLACES = ("fold", "seed", "draw")
"""Columns of whole numbers that identify a line."""

SINGLE: Mapping[str, str] = {
    "mean": "means",
    "variance": "variances",
    "sample": "samples",
    "low": "low",
    "high": "high",
    "level": "level",
}
"""Column with one number → array."""

FAMILIES: Mapping[str, str] = {
    "p": "probabilities",
    "log_p": "log_probabilities",
    "in": "members",
    "q": "quantiles",
}
"""Prefix of a column, before a class or a level → array."""

COLUMNS = (
    "row, rows_sha256, fold, seed, draw; and p0, p1, ... or log_p0, ... (classes), in0, in1, ... "
    "(sets), mean and variance, sample, q0.05, ... (quantiles), low and high; level"
)

_NUMBERED = re.compile(r"(log_p|p|in|q)(\d+|0?\.\d+)")


def parts_of(table: "pd.DataFrame") -> Iterator[tuple[Arrays, tuple[str, ...]]]:
    """Yield the arrays of each fold and seed in a table, and its row names; () if absent.

    `fold` and `seed` are among the arrays if the table has them. Raises BadPredictions.
    """
    if table.empty:
        raise BadPredictions("the table has no lines: give one for each row")
    for name in map(str, table.columns):
        _check_column(name)
    for name in (name for name in PLACES if name in table.columns):
        _check_whole(name, table[name].to_numpy())
    keys = [name for name in ("fold", "seed") if name in table.columns]
    groups: Any = table.groupby(keys, sort=False) if keys else [((), table)]
    for values, lines in groups:
        arrays, rows = _arrays(lines)
        places = {key: np.array(value) for key, value in zip(keys, values, strict=True)}
        yield arrays | places, rows


def _check_column(name: str) -> None:
    if name in (*SINGLE, *PLACES, "row", "rows_sha256") or _NUMBERED.fullmatch(name):
        return
    if re.fullmatch(r"[-+.\de]+", name):
        raise BadPredictions(
            f"the first line begins with the number {name}, but must contain column names: "
            f"columns are {COLUMNS}"
        )
    hint = did_you_mean(name, [*SINGLE, *PLACES, "row", "p0"])
    raise BadPredictions(
        f"the column {name!r} is unknown{hint and f' ({hint})'}: columns are {COLUMNS}"
    )


def _check_whole(name: str, values: np.ndarray) -> None:
    if values.dtype.kind not in "iu" or (values < 0).any():
        raise BadPredictions(f"the column {name} needs whole numbers from 0 on every line")


def _arrays(lines: "pd.DataFrame") -> tuple[Arrays, tuple[str, ...]]:
    """Return the arrays of one fold and seed, and the names of its rows."""
    draws = [lines]
    if "draw" in lines.columns:
        draws = [of_draw for _, of_draw in lines.groupby("draw", sort=False)]
    rows = _rows_of(draws)
    arrays: Arrays = {}
    if "rows_sha256" in lines.columns:
        arrays["rows_sha256"] = np.array(_one_value(lines["rows_sha256"]))
    for column, array in SINGLE.items():
        if column in lines.columns:
            values = np.stack([_column(of_draw, column) for of_draw in draws])
            arrays[array] = values if array in ("means", "variances", "samples") else values[0]
    for letters, array in FAMILIES.items():
        numbered = _family(lines, letters)
        if not numbered:
            continue
        values = np.stack(
            [np.stack([_column(of_draw, name) for name in numbered], 1) for of_draw in draws]
        )
        arrays[array] = values if letters in ("p", "log_p") else values[0]
        if letters == "q":
            arrays["levels"] = np.array(list(numbered.values()))
    several = {"quantiles", "low", "members"} & arrays.keys()
    if len(draws) > 1 and several:
        raise BadPredictions(
            f"a column draw goes with probabilities, means and samples, not with {min(several)}: "
            "give one line per row"
        )
    return arrays, rows


def _rows_of(draws: "list[pd.DataFrame]") -> tuple[str, ...]:
    """Return the names of the rows, equal in all draws; () if there is no such column."""
    first = draws[0]
    for number, of_draw in enumerate(draws):
        if len(of_draw) != len(first):
            raise BadPredictions(
                f"the first draw has {len(first)} lines and draw number {number + 1} "
                f"{len(of_draw)}: give a line for every row and draw"
            )
        if "row" in first.columns and list(of_draw["row"]) != list(first["row"]):
            raise BadPredictions(
                f"the rows of draw number {number + 1} differ from the first draw's, or are in "
                "another order: sort the lines by draw, and then as in the exported test rows"
            )
    return tuple(map(str, first["row"])) if "row" in first.columns else ()


def _family(lines: "pd.DataFrame", letters: str) -> dict[str, float]:
    """Return column → class or level, in the order of classes. Raises for a missing class."""
    matches = ((str(name), _NUMBERED.fullmatch(str(name))) for name in lines.columns)
    numbered = {name: float(match[2]) for name, match in matches if match and match[1] == letters}
    if letters == "q":
        return numbered
    ordered = sorted(numbered, key=lambda name: numbered[name])
    if [numbered[name] for name in ordered] != list(range(len(ordered))):
        raise BadPredictions(
            f"the columns {', '.join(ordered)} do not match classes 0 to {len(ordered) - 1}: "
            f"give {letters}0, {letters}1 and so on, one for each class"
        )
    return {name: numbered[name] for name in ordered}


def _column(lines: "pd.DataFrame", name: str) -> np.ndarray:
    values = lines[name].to_numpy()
    if values.dtype.kind not in "buif":
        texts = (str(value) for value in values if not _is_number(value))
        text = next(texts, "")
        raise BadPredictions(
            f"the column {name} contains {text!r}: give numbers, with a decimal point"
        )
    return values.astype(np.float64)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _one_value(column: Any) -> str:
    """Return the single value of a column."""
    values = column.unique()
    if len(values) != 1:
        raise BadPredictions(
            f"{column.name} has {len(values)} values for one fold and seed: give one digest"
        )
    return str(values[0])

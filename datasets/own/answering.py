"""The target of a table: numbers or classes, and the rows that have one."""

import math
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype

from bnnbench.datasets.own.columns.notation import Notation, are_codes, on_codes, stripped
from bnnbench.datasets.own.columns.numerals import Commas, Numerals, note_on, numerals_of
from bnnbench.datasets.own.notes import Note, Sheet, quoted
from bnnbench.datasets.own.preparation import Answers
from bnnbench.datasets.reading.columns import (
    MOST_CATEGORIES,
    BadTable,
    column_of,
    is_classes,
    mostly_numbers,
    texts_among,
    texts_of,
)
from bnnbench.datasets.reading.tables import TEST_SHARE

Task = Literal["regression", "classification"]
FEWEST_OF_A_CLASS = 2
UNKNOWN_CLASS = ("", "?")
"""Texts that stand for a missing class."""
WORDS = ("na", "n/a", "#n/a", "<na>", "nan", "none", "null")
"""Words, in lower case, that stand for a missing class if few rows of a text file have them."""
CLASS_SHARE = 0.05
"""Maximum share of rows with such a word if it stands for a missing class."""


def answers_of(
    column: pd.Series, task: Task | None, commas: Commas
) -> tuple[Answers, np.ndarray, list[Note]]:
    """Return how a target becomes numbers, the rows that have one, and notes.

    Raises `BadTable` for infinite numbers, and for texts among numbers unless `task` says that
    they are classes.
    """
    numerals = _numerals(column, task, commas)
    notation = numerals.notation if numerals else Notation()
    has_target, notes = _filled(column, numerals, commas)
    known = column.iloc[np.flatnonzero(has_target)]
    values = known if numerals is None else pd.Series(notation.numbers(known), known.index)
    if is_numeric_dtype(values) and not np.isfinite(values.astype(float)).all():
        raise BadTable(f"the target {column.name!r} has infinite values")
    if task is None:
        task = "classification" if is_classes(values) else "regression"
    if task == "classification":
        labels = tuple(sorted(map(str, texts_of(known).unique())))
        return Answers(str(column.name), labels), has_target, notes
    if not (is_numeric_dtype(values) or is_bool_dtype(values)):
        raise BadTable(
            f"the target {column.name!r} contains texts: write numbers, or use --task "
            "classification"
        )
    return Answers(str(column.name), (), notation), has_target, notes


def with_words(sheet: Sheet, target: str) -> Sheet:
    """Return a text file's sheet in which words such as "None" are classes if many rows have them.

    A reader of text files has taken them for empty cells.
    """
    if target not in sheet.gappy:
        return sheet
    texts = sheet.gappy[target]
    are_words = texts.str.strip().str.lower().isin(WORDS) & column_of(sheet.frame, target).isna()
    shares = texts.loc[are_words].str.strip().value_counts() / len(texts)
    rare = are_words & texts.str.strip().isin(shares[shares <= CLASS_SHARE].index)
    frame = sheet.frame.assign(**{target: texts.mask(rare, None)})
    return replace(sheet, frame=frame, notes=(*sheet.notes, *_on_rare(target, texts.loc[rare])))


def _on_rare(name: str, texts: pd.Series) -> list[Note]:
    if not len(texts):
        return []
    marks = f"{quoted(texts.unique())} in {len(texts)} rows counts as missing"
    cure = "leave these cells empty, or write another word if it is a class"
    return [Note(f"{name}: {marks}", f"the target {name!r} has {quoted(texts.unique())}: {cure}")]


def require_classes(
    title: str,
    answers: Answers,
    classes: np.ndarray,
    folds: Literal["given", "single", "stratified"],
) -> None:
    """Raise `BadTable` unless the classes can be split as given, row by row, or by their shares."""
    counts = np.bincount(classes.astype(int))
    if len(counts) < 2:
        only = answers.labels[0]
        raise BadTable(f"all targets ({answers.name}) are {only}: there is nothing to learn")
    if folds == "given":
        return
    few = [label for label, n in zip(answers.labels, counts, strict=True) if n < FEWEST_OF_A_CLASS]
    if few:
        numbers = ", or use --task regression" if all(map(_is_whole, answers.labels)) else ""
        raise BadTable(
            f"these classes of {answers.name!r} have only one row: {quoted(few, 5)}; leave them "
            f"out, or merge them with others{numbers}"
        )
    least = math.ceil(len(counts) / TEST_SHARE)
    if folds == "stratified" and len(classes) < least:
        raise BadTable(
            f"{title} has {len(classes)} rows for {len(counts)} classes of {answers.name!r}: at "
            f"least {least} are needed, so that a tenth can have one of each; merge rare classes, "
            "or give a split with --split"
        )


def _is_whole(label: str) -> bool:
    return label.removeprefix("-").isdecimal()


def _numerals(column: pd.Series, task: Task | None, commas: Commas) -> Numerals | None:
    """Return the notation of a target of texts.

    Raises `BadTable` for texts among numbers unless they are classes.
    """
    if is_numeric_dtype(column) or is_bool_dtype(column):
        return None
    are_few = task == "classification" or column.nunique() <= MOST_CATEGORIES
    if task != "regression" and are_few and are_codes(stripped(column)):
        return None
    try:
        numerals = numerals_of(column, commas)
    except BadTable as error:
        if task == "classification":
            return None
        raise BadTable(f"the target {column.name!r} {error}") from error
    if numerals is not None and not numerals.strangers:
        return numerals
    if task == "classification":
        return None
    if numerals or column.nunique() > MOST_CATEGORIES or mostly_numbers(column):
        cause = texts_among(column, "write numbers there, or leave these rows out")
        if cause:
            raise BadTable(f"the target {column.name!r} {cause}")
    return None


def _filled(
    column: pd.Series, numerals: Numerals | None, commas: Commas
) -> tuple[np.ndarray, list[Note]]:
    """Return the rows that have a target, with notes on the others and on its notation."""
    name, notes = str(column.name), []
    gaps = column.isna()
    if numerals is not None:
        gaps = numerals.notation.is_gap(stripped(column))
        is_decimal = commas != "thousands"
        note = note_on(numerals, name, is_target=True, is_decimal=is_decimal)
        notes = [note] if note else []
    elif not (is_numeric_dtype(column) or is_bool_dtype(column)):
        texts = stripped(column)
        gaps = gaps | texts.isin(UNKNOWN_CLASS)
        known = texts.loc[~gaps]
        notes = [*_on_words(name, known), *([on_codes(name, known)] if are_codes(known) else [])]
    if gaps.all():
        raise BadTable(f"the target {name!r} has no value in any row")
    return ~gaps.to_numpy(bool), [*notes, *_on_gaps(name, gaps.to_numpy(bool))]


def _on_words(name: str, texts: pd.Series) -> list[Note]:
    """Return a note on classes whose names could stand for missing ones."""
    classes = texts.loc[texts.str.lower().isin(WORDS)].unique()
    if not len(classes):
        return []
    shown = quoted(classes)
    told = f"{name}: {shown} is a class; leave cells empty to leave out their rows"
    return [Note(told, f"the target {name!r} has {shown}: write another word, or nothing")]


def _on_gaps(name: str, gaps: np.ndarray) -> list[Note]:
    if not gaps.any():
        return []
    row, count = int(np.flatnonzero(gaps)[0]) + 1, int(gaps.sum())
    which = f"row {row}" if count == 1 else f"{count} rows, the first of which is row {row}"
    rows = "1 row has" if count == 1 else f"{count} of {len(gaps)} rows have"
    told = f"{rows} no value of {name!r}, left out"
    cure = "(row 1 is the first below the column names): remove such rows from the file"
    return [Note(told, f"the target {name!r} has no value in {which} {cure}")]

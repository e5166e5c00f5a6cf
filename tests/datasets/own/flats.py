"""Flats, written or spoilt in one way each, with the reading that the table's meaning asks for."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pytest

ROWS = 24
PLACES = range(ROWS)
SIZES = [round(30.5 + 3.25 * (k * 7 % 24), 2) for k in PLACES]
TOWNS = [("Jena", "Kiel", "Ulm")[k * 7 % 5 % 3] for k in PLACES]
PRICES = [round(101.5 + 17.75 * (k * 5 % 24) + k / 8, 3) for k in PLACES]
CLASSES = ["new" if k * 11 % 24 > 13 else "old" for k in PLACES]
NAN = float("nan")

Column = Sequence[Any]


@dataclass(frozen=True)
class Reading:
    """How a table is to be read: some features, and what is to be said."""

    features: Mapping[str, Column] = field(default_factory=dict)
    """Feature → its value in each row; features that are not named may have any values."""
    lines: tuple[str, ...] = ()
    """A part of each line that is said, in their order."""
    strict: str = ""
    """Words of the error of a strict reading; empty if it is the same."""
    absent: tuple[str, ...] = ()
    """Columns that give no feature."""
    targets: Column | None = None
    labels: tuple[str, ...] = ()
    target: str = "price"
    options: Mapping[str, Any] = field(default_factory=dict)
    ending: str = "csv"
    only: tuple[str, ...] | None = None
    """All names of features."""


def lines_of(columns: Mapping[str, Column], separator: str = ",") -> str:
    """Return a table as text: names, then rows."""
    rows = zip(*columns.values(), strict=True)
    texts = [separator.join(columns), *(separator.join(map(str, row)) for row in rows)]
    return "\n".join(texts) + "\n"


def flats(separator: str = ",", **columns: Column) -> str:
    """Return the flats as text, with columns added or replaced."""
    return lines_of({"size": SIZES, "town": TOWNS} | columns | {"price": PRICES}, separator)


def comma(number: float) -> str:
    return str(number).replace(".", ",")


def german(number: float) -> str:
    """Return a number as written in Germany: 1.234,5."""
    return f"{number:,.1f}".translate(str.maketrans(",.", ".,"))


def towns(column: str = "town") -> dict[str, list[int]]:
    names = "Jena", "Kiel", "Ulm"
    return {f"{column}={name}": [int(town == name) for town in TOWNS] for name in names}


def with_gaps(values: Column, mark: object, every: int = 8) -> list:
    return [mark if k % every == 3 else value for k, value in enumerate(values)]


def median_filled(values: Sequence[float], every: int = 8) -> list[float]:
    known = [value for k, value in enumerate(values) if k % every != 3]
    return with_gaps(values, float(np.median(known)), every)


def dates(pattern: str, step: str = "37h") -> tuple[list[str], list[float]]:
    """Return dates as texts, and in days since 1970 as numpy counts them."""
    stamps = pd.date_range("2019-03-05 06:00", periods=ROWS, freq=step).to_series()
    texts = stamps.dt.strftime(pattern)
    told = pd.to_datetime(texts, format=pattern).to_numpy("datetime64[s]")
    return list(texts), list(told.astype(float) / 86_400)


PLAIN = {"size": SIZES, **towns()}
THOUSANDS = [1200 + 1371 * (k * 11 % 24) for k in PLACES]
RENT = [f"{value:,}" for value in THOUSANDS]
ISO, ISO_DAYS = dates("%Y-%m-%d")
HOURS, HOUR_DAYS = dates("%Y-%m-%d %H:%M:%S")
POINTS, POINT_DAYS = dates("%d.%m.%Y")
SLASHES, SLASH_DAYS = dates("%m/%d/%Y")
BRITISH, BRITISH_DAYS = dates("%d/%m/%Y", "61h")
NAMED, NAMED_DAYS = dates("%d-%b-%Y")
MONTHS, MONTH_DAYS = dates("%b %d, %Y")
NAMES = [f"Flat {chr(97 + k)}{k * 13 % 10}" for k in PLACES]
GAPPY = {"size": median_filled(SIZES), "size missing": with_gaps([0] * ROWS, 1)}
STREETS = [
    f"street {k % 55}" if k % 2 else ("high street", "church lane")[k // 2 % 2] for k in range(120)
]

UTF_8 = "is not UTF-8 text: save it as UTF-8"
DATES = "'day' contains dates: convert it to numbers, or leave it out"
EXCEL = "an Excel file: save it as csv"


def many(**columns: Column) -> str:
    """Return 120 flats with a size and a price."""
    sizes = [round(30 + 0.37 * (k * 7 % 120), 2) for k in range(120)]
    prices = [round(90 + 1.75 * (k * 11 % 120) + k / 16, 3) for k in range(120)]
    return lines_of({"size": sizes} | columns | {"price": prices})


def arrays(**values: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **values)
    return stream.getvalue()


def workbook(*sheets: tuple[str, Sequence[Sequence[object]]]) -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets:
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(list(row))
    stream = io.BytesIO()
    book.save(stream)
    return stream.getvalue()


def cells(**columns: Column) -> list[Sequence[object]]:
    columns = {"size": SIZES, "town": TOWNS} | columns | {"price": PRICES}
    return [list(columns), *zip(*columns.values(), strict=True)]


TABLES: dict[str, tuple[str | bytes | Callable[[], bytes], Reading]] = {
    # ordinary tables
    "commas": (flats(), Reading(PLAIN, only=tuple(PLAIN), targets=PRICES)),
    "semicolons": (flats(";"), Reading(PLAIN, only=tuple(PLAIN))),
    "tabs": (flats("\t"), Reading(PLAIN, only=tuple(PLAIN))),
    "bars": (flats("|"), Reading(PLAIN, only=tuple(PLAIN))),
    "blanks": (flats("  "), Reading(PLAIN, only=tuple(PLAIN))),
    "classes": (
        lines_of({"size": SIZES, "age": CLASSES}),
        Reading({"size": SIZES}, labels=("new", "old"), target="age"),
    ),
    # separators within other separators
    "semicolons and decimal commas": (
        lines_of({"size": [*map(comma, SIZES)], "price": [*map(comma, PRICES)]}, ";"),
        Reading({"size": SIZES}, targets=PRICES, only=("size",)),
    ),
    "tabs and decimal commas": (
        lines_of({"size": [*map(comma, SIZES)], "price": [*map(comma, PRICES)]}, "\t"),
        Reading({"size": SIZES}, targets=PRICES, only=("size",)),
    ),
    "bars and decimal commas": (
        lines_of({"size": [*map(comma, SIZES)], "price": [*map(comma, PRICES)]}, "|"),
        Reading({"size": SIZES}, targets=PRICES, only=("size",)),
    ),
    "commas in quoted texts": (
        flats(note=[f'"{town}; centre, {k % 2}"' for k, town in enumerate(TOWNS)]),
        Reading(
            {
                **PLAIN,
                "note=Jena; centre, 0": [
                    int(t == "Jena" and k % 2 == 0) for k, t in enumerate(TOWNS)
                ],
            }
        ),
    ),
    "bars within texts": (
        flats(kind=["a|b" if k % 2 else "b|a" for k in PLACES]),
        Reading({**PLAIN, "kind=a|b": [k % 2 for k in PLACES]}),
    ),
    "points for thousands and decimal commas": (
        lines_of({"rent": [*map(german, THOUSANDS)], "price": [*map(comma, PRICES)]}, ";"),
        Reading(
            {"rent": THOUSANDS},
            ("rent: numbers with a decimal comma and a separator of thousands",),
            strict="a decimal comma and a separator of thousands, such as '1.200,0': write plain",
        ),
    ),
    "quoted decimal commas among commas": (
        flats(width=[f'"{comma(size)}"' for size in SIZES]),
        Reading(
            {"width": SIZES},
            ("width: numbers with a decimal comma, such as",),
            strict="width' has numbers with a decimal comma, such as '30,5': write points",
        ),
    ),
    # encodings
    "Latin-1": (
        flats(city=["Köln" if k % 2 else "Essen" for k in PLACES]).encode("latin-1"),
        Reading(
            {"city=Köln": [k % 2 for k in PLACES]},
            ("read as Windows-1252 (Latin-1)",),
            strict=UTF_8,
        ),
    ),
    "Windows-1252": (
        flats(city=["“Köln”" if k % 2 else "Essen" for k in PLACES]).encode("cp1252"),
        Reading(
            {"city=“Köln”": [k % 2 for k in PLACES]},
            ("read as Windows-1252",),
            strict=UTF_8,
        ),
    ),
    "UTF-16": (
        flats().encode("utf-16"),
        Reading(
            PLAIN,
            ("read as UTF-16",),
            only=tuple(PLAIN),
            strict=UTF_8,
        ),
    ),
    "UTF-16 without a mark": (
        flats("\t").encode("utf-16-le"),
        Reading(PLAIN, ("read as UTF-16",), strict=UTF_8),
    ),
    "UTF-8 with a mark": (flats().encode("utf-8-sig"), Reading(PLAIN, only=tuple(PLAIN))),
    "old lines' ends": (flats().replace("\n", "\r\n"), Reading(PLAIN, only=tuple(PLAIN))),
    # lines above the names
    "comments": (
        "# exported 2020\n# by hand\n" + flats(),
        Reading(
            PLAIN,
            ("2 lines above the names of the columns, left out",),
            only=tuple(PLAIN),
            strict="2 lines above the names of its columns: remove them",
        ),
    ),
    "a title and a blank line": (
        "Flats of 2020\n\n" + flats(),
        Reading(
            PLAIN,
            ("a line above the names",),
            only=tuple(PLAIN),
            strict="a line above the names of its columns: remove it",
        ),
    ),
    "a title with separators": (
        "Flats of 2020;;\n" + flats(";"),
        Reading(
            PLAIN,
            ("a line above the names",),
            only=tuple(PLAIN),
            strict="a line above the names of its columns: remove it",
        ),
    ),
    "names in a comment": (
        "# size price\n" + "\n".join(f"{a} {b}" for a, b in zip(SIZES, PRICES, strict=True)),
        Reading(
            {"size": SIZES},
            ("come from a comment",),
            targets=PRICES,
            strict="its names of columns in a comment: remove the mark",
        ),
    ),
    # names
    "blanks around names and values": (
        flats(" , ").replace("\n", " \n"),
        Reading(PLAIN, only=tuple(PLAIN)),
    ),
    "no names": (
        flats().partition("\n")[2],
        Reading(
            {"x1": SIZES, **towns("x2")},
            ("no names of columns, since its first line holds values",),
            targets=PRICES,
            target="x3",
            strict="its first line holds values ('30.5', 'Jena', '101.5'): put a line of names",
        ),
    ),
    "no names, numbers alone": (
        lines_of({"size": SIZES, "price": PRICES}, ";").partition("\n")[2],
        Reading(
            {"x1": SIZES},
            ("they are called x1 to x2",),
            target="x2",
            targets=PRICES,
            strict="its first line holds values ('30.5', '101.5'): put a line of names",
        ),
    ),
    "places as names": (
        lines_of({"0": SIZES, "1": SIZES[::-1], "2": PRICES}),
        Reading({"0": SIZES, "1": SIZES[::-1]}, target="2", targets=PRICES),
    ),
    "an index without a name": (
        pd.DataFrame({"size": SIZES, "price": PRICES}).to_csv(),
        Reading(
            {"size": SIZES},
            ("Unnamed: 0: left out, since it has no name and counts the rows",),
            only=("size",),
            strict="has no name and counts the rows: leave it out with --drop 'Unnamed: 0'",
        ),
    ),
    "a separator at the end of each line": (
        flats().replace("\n", ",\n"),
        Reading(
            PLAIN,
            ("left out, since it has no value in any row",),
            only=tuple(PLAIN),
            strict="has no value in any row: leave it out with --drop 'Unnamed: 3'",
        ),
    ),
    "a separator at the end of all lines but the names": (
        flats().replace("\n", ",\n").replace(",\n", "\n", 1),
        Reading(
            PLAIN,
            ("left out, since it has no value in any row",),
            only=tuple(PLAIN),
            strict="has no value in any row: leave it out with --drop 'Unnamed: 3'",
        ),
    ),
    "names of rows without a name, as R writes them": (
        "size price\n" + "".join(f"flat{k} {SIZES[k]} {PRICES[k]}\n" for k in PLACES),
        Reading(
            {"size": SIZES},
            ("Unnamed: 0: left out, since it has a different text in every row",),
            only=("size",),
            targets=PRICES,
            strict="a different text in every row: leave it out with --drop 'Unnamed: 0'",
        ),
    ),
    "counts in the first line, as scikit-learn has them": (
        "24,4,flats\n"
        + "".join(f"{SIZES[k]},{k % 5},{k % 7},{k % 3},{PRICES[k]}\n" for k in PLACES),
        Reading(
            {"x1": SIZES, "x3": [k % 7 for k in PLACES]},
            ("a line above the names of the columns, left out", "called x1 to x5"),
            only=("x1", "x2", "x3", "x4"),
            target="x5",
            strict="a line above the names of its columns: remove it",
        ),
    ),
    # targets
    "gaps in the target": (
        lines_of({"size": SIZES, "price": with_gaps(PRICES, "")}),
        Reading(
            {"size": [s for k, s in enumerate(SIZES) if k % 8 != 3]},
            ("3 of 24 rows have no value of 'price', left out",),
            targets=[p for k, p in enumerate(PRICES) if k % 8 != 3],
            strict="'price' has no value in 3 rows, the first of which is row 4",
        ),
    ),
    "marks in the target": (
        lines_of({"size": SIZES, "price": with_gaps(PRICES, "n/k")}),
        Reading(
            {"size": [s for k, s in enumerate(SIZES) if k % 8 != 3]},
            (
                "price: 'n/k' in 3 of 24 rows",
                "3 of 24 rows have no value of 'price', left out",
            ),
            strict="'price' has numbers but for 'n/k' in 3 of 24 rows: write numbers there",
        ),
    ),
    "gaps among classes": (
        lines_of({"size": SIZES, "age": with_gaps(CLASSES, "?")}),
        Reading(
            {},
            ("3 of 24 rows have no value of 'age'",),
            labels=("new", "old"),
            target="age",
            strict="'age' has no value in 3 rows, the first of which is row 4",
        ),
    ),
    "gaps among whole classes": (
        lines_of(
            {"size": SIZES, "age": with_gaps([(k * 11 % 24 > 13 and 1) or 0 for k in PLACES], "")}
        ),
        Reading(
            {},
            ("3 of 24 rows have no value of 'age'",),
            labels=("0", "1"),
            target="age",
            strict="'age' has no value in 3 rows, the first of which is row 4",
        ),
    ),
    "thousands in the target": (
        lines_of({"size": SIZES, "rent": [f'"{text}"' for text in RENT]}),
        Reading(
            {"size": SIZES},
            ("rent: numbers with a separator of thousands",),
            targets=THOUSANDS,
            target="rent",
            strict="such as in '1,200' (decimals or thousands): write decimal points",
        ),
    ),
    "currency in the target": (
        lines_of({"size": SIZES, "rent": [f"€ {p}" for p in PRICES]}),
        Reading(
            {"size": SIZES},
            ("rent: numbers with the unit €",),
            targets=PRICES,
            target="rent",
            strict="'rent' has numbers with the unit €, such as '€ 101.5': write plain numbers",
        ),
    ),
    # missing numbers
    "empty cells": (lines_of({"size": with_gaps(SIZES, ""), "price": PRICES}), Reading(GAPPY)),
    "question marks": (
        lines_of({"size": with_gaps(SIZES, "?"), "price": PRICES}),
        Reading(
            GAPPY,
            ("size: '?' in 3 of 24 rows counts as missing",),
            strict="'size' has numbers but for '?' in 3 of 24 rows: write numbers or nothing there",
        ),
    ),
    "hyphens": (
        lines_of({"size": with_gaps(SIZES, "-"), "price": PRICES}),
        Reading(
            GAPPY,
            ("size: '-' in 3 of 24 rows counts as missing",),
            strict="'size' has numbers but for '-' in 3 of 24 rows: write numbers or nothing there",
        ),
    ),
    "marks of several kinds": (
        lines_of(
            {"size": with_gaps(SIZES, "n.a.", 4), "price": with_gaps(PRICES, PRICES[3])}
        ).replace("n.a.", "unknown", 2),
        Reading(
            {"size missing": with_gaps([0] * ROWS, 1, 4)},
            ("in 6 of 24 rows counts as missing", "2 rows repeat others"),
            strict="'size' has numbers but for 'n.a.', 'unknown' in 6 of 24 rows",
        ),
    ),
    "a question mark among few numbers": (
        lines_of({"rooms": with_gaps([k % 5 + 1 for k in PLACES], "?"), "price": PRICES}),
        Reading(
            {"rooms missing": with_gaps([0] * ROWS, 1)},
            ("rooms: '?' in 3 of 24",),
            only=("rooms", "rooms missing"),
            strict="'rooms' has numbers but for '?' in 3 of 24 rows: write numbers or nothing",
        ),
    ),
    "a slip among numbers": (
        lines_of({"size": ["abc", *SIZES[1:]], "price": PRICES}),
        Reading(
            {"size missing": [1] + [0] * (ROWS - 1)},
            ("size: 'abc' in 1 of 24 rows counts as missing",),
            strict="'size' has numbers but for 'abc' in 1 of 24 rows: write numbers or nothing",
        ),
    ),
    "a sentinel": (
        flats(year=with_gaps([1950 + 3 * k % 50 for k in PLACES], -999)),
        Reading(
            {**PLAIN, "year": with_gaps([1950 + 3 * k % 50 for k in PLACES], -999)},
            ("year: -999 in 3 rows is far from all others",),
        ),
    ),
    "a column without values": (
        flats(note=[""] * ROWS),
        Reading(
            PLAIN,
            ("note: left out, since it has no value in any row",),
            only=tuple(PLAIN),
            strict="'note' has no value in any row: leave it out with --drop 'note'",
        ),
    ),
    # numbers as people write them
    "thousands": (
        flats(rent=[f'"{text}"' for text in RENT]),
        Reading(
            {"rent": THOUSANDS},
            ("rent: numbers with a separator of thousands, such as",),
            strict="such as in '1,200' (decimals or thousands): write decimal points",
        ),
    ),
    "millions": (
        flats(rent=[f'"{value * 1000:,}"' for value in THOUSANDS]),
        Reading(
            {"rent": [value * 1000 for value in THOUSANDS]},
            ("rent: numbers with a separator",),
            strict="such as in '1,200,000' (decimals or thousands): write decimal points",
        ),
    ),
    "dollars": (
        flats(rent=[f'"${text}.50"' for text in RENT]),
        Reading(
            {"rent": [v + 0.5 for v in THOUSANDS]},
            ("a separator of thousands and the unit $",),
            strict="a separator of thousands and the unit $, such as '$1,200.50': write plain",
        ),
    ),
    "negative dollars": (
        flats(gain=[f"-${k}.25" if k % 2 else f"${k}.25" for k in PLACES]),
        Reading(
            {"gain": [(-1) ** k * (k + 0.25) for k in PLACES]},
            ("gain: numbers with the unit $",),
            strict="'gain' has numbers with the unit $, such as '$0.25': write plain numbers",
        ),
    ),
    "euros after the number": (
        lines_of({"rent": [f"{german(v)} €" for v in THOUSANDS], "price": PRICES}, ";"),
        Reading(
            {"rent": THOUSANDS},
            ("the unit €",),
            strict="the unit €, such as '1.200,0 €': write plain numbers",
        ),
    ),
    "percent": (
        flats(share=[f"{k * 7 % 24 * 4.5}%" for k in PLACES]),
        Reading(
            {"share": [k * 7 % 24 * 4.5 for k in PLACES]},
            ("share: numbers with the unit %",),
            strict="'share' has numbers with the unit %, such as '0.0%': write plain numbers",
        ),
    ),
    "blanks for thousands": (
        flats(rent=[text.replace(",", " ") for text in RENT]),
        Reading(
            {"rent": THOUSANDS},
            ("rent: numbers with a separator of thousands",),
            strict="a separator of thousands, such as '1 200': write plain numbers",
        ),
    ),
    "apostrophes for thousands": (
        flats(rent=[text.replace(",", "'") for text in RENT]),
        Reading(
            {"rent": THOUSANDS},
            ("rent: numbers with a separator of thousands",),
            strict='a separator of thousands, such as "1\'200": write plain numbers',
        ),
    ),
    "counts that end with a plus": (
        flats(rooms=["1", "2", "3", "4+"] * 6),
        Reading(
            {
                f"rooms={n}": [int(k % 4 == p) for k in PLACES]
                for p, n in enumerate(("1", "2", "3", "4+"))
            }
        ),
    ),
    # dates
    "dates of the standard": (
        flats(day=ISO),
        Reading(
            {"day days": ISO_DAYS},
            ("day: dates become days since 1970, with month, weekday",),
            strict=DATES,
        ),
    ),
    "dates and times": (
        flats(day=HOURS),
        Reading(
            {"day days": HOUR_DAYS, "day hour": [(6 + 37 * k) % 24 for k in PLACES]},
            ("with month, weekday, hour",),
            strict=DATES,
        ),
    ),
    "dates with points": (
        flats(day=POINTS),
        Reading(
            {"day days": POINT_DAYS},
            ("day: dates",),
            strict=DATES,
        ),
    ),
    "dates of America": (
        flats(day=SLASHES),
        Reading(
            {"day days": SLASH_DAYS},
            ("day: dates become days since 1970",),
            strict=DATES,
        ),
    ),
    "dates of Britain": (
        flats(day=BRITISH),
        Reading(
            {"day days": BRITISH_DAYS},
            ("day: dates become days since 1970",),
            strict=DATES,
        ),
    ),
    "dates with names of months": (
        flats(day=NAMED),
        Reading(
            {"day days": NAMED_DAYS},
            ("day: dates",),
            strict=DATES,
        ),
    ),
    "dates with commas": (
        flats(day=[f'"{text}"' for text in MONTHS]),
        Reading(
            {"day days": MONTH_DAYS},
            ("day: dates",),
            strict=DATES,
        ),
    ),
    "dates with gaps": (
        flats(day=with_gaps(ISO, "-")),
        Reading(
            {"day days": median_filled(ISO_DAYS), "day missing": with_gaps([0] * ROWS, 1)},
            ("day: dates",),
            strict=DATES,
        ),
    ),
    "dates that could be of either": (
        flats(day=[f"0{k % 9 + 1}/0{k * 4 % 9 + 1}/2020" for k in PLACES]),
        Reading(
            {},
            ("%m/%d/%Y is assumed, %d/%m/%Y would fit too",),
            strict=DATES,
        ),
    ),
    # texts
    "names of rows": (
        flats(name=NAMES),
        Reading(
            PLAIN,
            ("name: left out, since it has a different text in every row",),
            only=tuple(PLAIN),
            strict="'name' has a different text in every row: leave it out with --drop 'name'",
        ),
    ),
    "many texts, few of them often": (
        many(street=STREETS),
        Reading(
            {
                "street=high street": [int(s == "high street") for s in STREETS],
                "street=church lane": [int(s == "church lane") for s in STREETS],
                "street=other texts": [int("street " in s) for s in STREETS],
            },
            ("the 2 most frequent in the training rows are categories",),
            strict="57 different texts, more than 50: leave it out with --drop 'street'",
        ),
    ),
    "many texts, none of them often": (
        many(ticket=[f"A{k // 2}" for k in range(120)]),
        Reading(
            {},
            ("ticket: left out, since it has 60 different texts, none of them often",),
            absent=("ticket",),
            strict="60 different texts, more than 50: leave it out with --drop 'ticket'",
        ),
    ),
    # what spoils a comparison
    "a column that counts rows": (
        flats(flat=[*range(1, ROWS + 1)]),
        Reading({"flat": [*range(1, ROWS + 1)]}, ("flat: it counts the rows; --drop 'flat'",)),
    ),
    "a column that is the target in another unit": (
        flats(cents=[round(100 * p, 1) for p in PRICES]),
        Reading({}, ("cents: alone it nearly determines the target",)),
    ),
    "a number that separates the classes": (
        lines_of(
            {
                "size": SIZES,
                "year": [1900 + k if c == "old" else 2000 + k for k, c in enumerate(CLASSES)],
                "age": CLASSES,
            }
        ),
        Reading(
            {},
            ("year: alone it nearly determines the target",),
            labels=("new", "old"),
            target="age",
        ),
    ),
    "texts that are the classes by another name": (
        lines_of({"size": SIZES, "code": [c[0] for c in CLASSES], "age": CLASSES}),
        Reading(
            {},
            ("code: alone it nearly determines the target",),
            labels=("new", "old"),
            target="age",
        ),
    ),
    "nearly one class": (
        lines_of(
            {"size": [*range(100)], "age": ["new" if k % 50 == 9 else "old" for k in range(100)]}
        ),
        Reading(
            {},
            ("98% of the targets are of class 'old'", "size: it counts the rows"),
            target="age",
            labels=("new", "old"),
        ),
    ),
    "nearly one number": (
        lines_of(
            {"size": [*range(100)], "claims": [k / 7 if k % 25 == 9 else 0 for k in range(100)]}
        ),
        Reading({}, ("96% of the targets are 0", "size: it counts the rows"), target="claims"),
    ),
    "several rows of one patient": (
        flats(patient_id=[k * 5 % 24 // 3 for k in PLACES]),
        Reading({}, ("patient_id: several rows have the same; if they belong together, --groups",)),
    ),
    "repeated rows": (
        flats() + flats().partition("\n")[2],
        Reading({"size": SIZES * 2}, ("24 rows repeat others: equal rows are on one side",)),
    ),
    "few rows": (
        "\n".join(flats().splitlines()[:13]),
        Reading(
            {"size": SIZES[:12]},
            ("12 rows are few: each is tested once, alone",),
            strict="has 12 rows; at least 20 are needed",
        ),
    ),
    # other files
    "Excel": (
        lambda: workbook(("Sheet1", cells())),
        Reading(
            PLAIN,
            ("read as an Excel workbook",),
            ending="xlsx",
            only=tuple(PLAIN),
            targets=PRICES,
            strict=EXCEL,
        ),
    ),
    "Excel with another ending": (
        lambda: workbook(("Sheet1", cells())),
        Reading(
            PLAIN,
            ("read as an Excel workbook",),
            ending="csv",
            strict=EXCEL,
        ),
    ),
    "Excel with a title, gaps and dates": (
        lambda: workbook(
            (
                "Flats",
                [
                    ["Flats of 2020"],
                    [],
                    *cells(
                        size=with_gaps(SIZES, None),
                        day=pd.date_range("2020-01-06", periods=ROWS).to_pydatetime(),
                    ),
                ],
            )
        ),
        Reading(
            {
                **GAPPY,
                "day days": [18267 + k for k in PLACES],
                "day weekday": [k % 7 for k in PLACES],
            },
            ("an Excel workbook", "a line above the names", "day: dates become days since 1970"),
            ending="xlsx",
            strict=EXCEL,
        ),
    ),
    "Excel with several sheets": (
        lambda: workbook(("empty", []), ("flats", cells()), ("notes", [["by hand"]])),
        Reading(
            PLAIN,
            ("an Excel workbook", "sheet 'flats' is read; others are not: 'notes'"),
            ending="xlsx",
            strict=EXCEL,
        ),
    ),
    "arrays, one of them a block": (
        arrays(features=np.arange(72.0).reshape(24, 3) % 7, town=TOWNS, price=PRICES),
        Reading(
            {"features_1": (np.arange(24) * 3 + 1) % 7.0, **towns()},
            ending="npz",
            only=("features_0", "features_1", "features_2", *towns()),
        ),
    ),
    "arrays with their split": (
        arrays(
            features=np.arange(48.0).reshape(24, 2) % 5,
            label=CLASSES,
            split=["train"] * 12 + ["validation"] * 4 + ["test"] * 8,
        ),
        Reading(
            {},
            ("4 validation rows of 'split' join the training rows",),
            ending="npz",
            target="label",
            labels=("new", "old"),
            options={"split": "split"},
        ),
    ),
    "arrays of other lengths": (
        arrays(features=np.arange(48.0).reshape(24, 2) % 5, price=PRICES, epochs=np.arange(3)),
        Reading(
            {},
            ("arrays without an entry for each of 24 rows, left out: 'epochs'",),
            ending="npz",
            only=("features_0", "features_1"),
            strict="arrays without an entry for each of 24 rows: 'epochs'",
        ),
    ),
}

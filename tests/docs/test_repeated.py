"""Repeated runs, as counted in the document, are counted again from the files."""

import csv
from collections import Counter

import pytest

from docs.generate.finished_runs import BUNDLE, suites
from docs.generate.repeated import (
    COLUMNS,
    FAILED,
    FAR,
    NEAR,
    apart_table,
    repeated_table,
    repeated_text,
)

pytestmark = pytest.mark.long

ROWS = [
    row
    for path in sorted(BUNDLE.glob("*/repeated.csv"))
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
]


def test_every_line_is_of_a_run_of_the_bundle():
    keys = {r.key: r.method for of in suites().values() for b in of for r in b.records}
    assert {row["key"] for row in ROWS} <= keys.keys()
    assert all(keys[row["key"]] == row["method"] for row in ROWS)
    assert len({row["key"] for row in ROWS}) == len(ROWS)


def test_counts_agree_with_the_files():
    *_, total = repeated_table({})
    counts = dict(zip(COLUMNS, (int(cell.strip("*")) for cell in total[1:]), strict=True))
    outcomes = Counter(row["outcome"] for row in ROWS)
    assert counts["identical"] == outcomes["identical"]
    assert counts["within rounding"] == outcomes["within rounding"]
    assert sum(counts[column] for column in (*NEAR.values(), FAR, FAILED)) == outcomes["differs"]
    methods = {
        (s, r.profile, r.method) for s, of in suites().items() for b in of for r in b.records
    }
    assert sum(counts.values()) >= len(methods)


def test_those_far_away_are_listed_the_farthest_first():
    _, _, *rows = apart_table({})
    far = sorted((float(r["spreads"]) for r in ROWS if r["spreads"]), reverse=True)
    assert len([row for row in rows if row[6]]) == sum(distance >= 1 for distance in far)
    assert [row[6] for row in rows[:3]] == [
        f"{distance:.2g}" for distance in far[: min(3, len(rows))]
    ]


def test_the_sentence_counts_by_processor():
    same = [row for row in ROWS if row["cpu"] == row["cpu_of_record"] and row["commit"]]
    identical = sum(row["outcome"] == "identical" for row in same)
    assert f"{identical} of {len(same)} are identical" in repeated_text({})

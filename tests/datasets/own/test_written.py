"""Numbers as a file writes them: points that mark thousands, codes, and several notations."""

import numpy as np
import pandas as pd
import pytest

from bnnbench.datasets.own.leaks import follows_from_kind
from bnnbench.datasets.own.preparation import prepare
from bnnbench.datasets.own.table import own_table
from bnnbench.datasets.reading.columns import BadTable, texts_of
from tests.datasets.own.flats import PLACES, PRICES, ROWS, SIZES, cells, flats, lines_of, workbook

RENTS = [850 + 97 * k for k in PLACES]
GROUPED = [f"{rent:,}".replace(",", ".") for rent in RENTS]
COMMAS = [str(size).replace(".", ",") for size in SIZES]


def values_of(source, feature):
    preparation = source.preparation()
    inputs = preparation.inputs(source.rows())
    return inputs[:, preparation.names.index(feature)].tolist()


@pytest.fixture
def written(tmp_path):
    def write(content, **options):
        path = tmp_path / "flats.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return own_table(str(path), **{"target": "price", **options})

    return write


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_points_mark_thousands_beside_decimal_commas(written, separator):
    content = lines_of({"size": COMMAS, "rent": GROUPED, "price": GROUPED[::-1]}, separator)
    source = written(content, task="regression")
    assert values_of(source, "rent") == RENTS
    assert source.answers().values(source.rows()["price"]).tolist() == RENTS[::-1]
    assert any("rent: numbers with a decimal comma and a sep" in line for line in source.lines)
    with pytest.raises(BadTable, match=r"rent|price"):
        written(content, task="regression", strict=True)


def test_points_before_three_digits_are_decimal_where_others_are(written):
    source = written(lines_of({"size": SIZES, "rent": GROUPED, "price": PRICES}, ";"))
    assert values_of(source, "rent") == [float(text) for text in GROUPED]
    assert not any("ambiguous" in line for line in source.lines)


def test_points_that_nothing_explains_are_told(written):
    content = lines_of({"rent": GROUPED, "price": [*range(ROWS)]}, ";")
    source = written(content, task="regression")
    assert values_of(source, "rent") == [float(text) for text in GROUPED]
    assert any("rent: ambiguous points, such as in '1.0" in line for line in source.lines)
    with pytest.raises(BadTable, match="column 'rent' has ambiguous points"):
        written(content, task="regression", strict=True)
    assert written(content.replace(";", ","), task="regression", strict=True)


def test_cells_that_are_numbers_are_not_read_as_texts(tmp_path):
    sizes = ["9,5" if k == 3 else 18.125 + k / 4 for k in PLACES]
    path = tmp_path / "flats.xlsx"
    path.write_bytes(workbook(("flats", cells(size=sizes))))
    source = own_table(str(path), "price")
    expected = [9.5 if size == "9,5" else size for size in sizes]
    assert values_of(source, "size") == expected


@pytest.mark.parametrize("codes", [["01", "1", "2", "02"], ["00501", "10001", "02139", "94103"]])
def test_codes_with_leading_zeros_stay_texts(written, codes):
    content = flats(code=[codes[k % 4] for k in PLACES])
    source = written(content)
    for code in codes:
        assert values_of(source, f"code={code}") == [int(codes[k % 4] == code) for k in PLACES]
    assert any("code: leading zeros, such as in '0" in line for line in source.lines)
    with pytest.raises(BadTable, match="column 'code' has leading zeros"):
        written(content, strict=True)
    rows = lines_of({"size": range(80), "code": [codes[k * 7 % 9 % 4] for k in range(80)]})
    assert written(rows, target="code").labels == tuple(sorted(codes))


def test_a_zero_among_numbers_is_no_code(written):
    numbers = ["05" if k == 4 else str(k + 7) for k in PLACES]
    assert values_of(written(flats(count=numbers)), "count") == [int(text) for text in numbers]


def test_numbers_in_several_notations_are_refused_by_name(written):
    sizes = ["3,5" if k == 4 else "12,75" if k == 9 else str(SIZES[k]) for k in PLACES]
    with pytest.raises(BadTable, match=r"'size' has numbers in several .*'30.5' and '3,5'"):
        written(lines_of({"size": sizes, "price": PRICES}, ";"))
    with pytest.raises(BadTable, match="the target 'size' has numbers in several notations"):
        written(lines_of({"size": sizes, "price": PRICES}, ";"), target="size")


def test_numbers_in_parentheses_are_negative_as_in_accounts(written):
    gains = [f"({k + 0.5})" if k % 3 else f"{k + 0.5}" for k in PLACES]
    source = written(flats(gain=gains))
    assert values_of(source, "gain") == [-(k + 0.5) if k % 3 else k + 0.5 for k in PLACES]
    assert any("gain: numbers with negative numbers in" in line for line in source.lines)


def test_whole_numbers_beyond_64_bits_are_classes():
    assert texts_of(pd.Series([1e20, 2.0])).nunique() == 2


def test_many_classes_and_kinds_are_compared_in_little_memory():
    rng = np.random.default_rng(0)
    targets = np.repeat(np.arange(60_000), 2).astype(float)
    kinds = rng.permutation(60_000)[targets.astype(int)]  # 27 GB as a table of pairs
    assert follows_from_kind(kinds, targets, are_classes=True)
    assert not follows_from_kind(rng.permutation(kinds), targets, are_classes=True)


def test_columns_are_found_without_a_search_through_all_others():
    class Counted(str):
        comparisons = 0

        def __str__(self):
            Counted.comparisons += 1
            return super().__str__()

    frame = pd.DataFrame(np.eye(60)).rename(columns=lambda k: Counted(f"x{k}"))
    preparation = prepare(frame)
    Counted.comparisons = 0
    preparation.inputs(frame)
    assert Counted.comparisons <= 4 * 60


@pytest.mark.parametrize("word", ["None", "NA", "n/a"])
def test_a_class_with_a_name_like_a_gap_is_one_if_many_rows_have_it(written, word):
    kinds = ["Grades", word, "Shed"]
    rows = lines_of({"size": range(90), "kind": [kinds[k * 7 % 10 % 3] for k in range(90)]})
    source = written(rows + "90,\n", target="kind")
    assert (source.labels, len(source.rows())) == (tuple(sorted(kinds)), 90)
    assert any(f"kind: {word!r} is a class" in line for line in source.lines)
    with pytest.raises(BadTable):
        written(rows, target="kind", strict=True)


def test_a_class_with_a_name_like_a_gap_is_none_if_few_rows_have_it(written):
    kinds = ["NA" if k in (5, 50) else "ab"[k * 7 % 10 % 2] for k in range(90)]
    source = written(lines_of({"size": range(90), "kind": kinds}), target="kind")
    assert (source.labels, len(source.rows())) == (("a", "b"), 88)
    assert "kind: 'NA' in 2 rows counts as missing" in source.lines

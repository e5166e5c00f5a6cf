"""Files of predictions: every kind gives the same arrays; errors name the cure."""

import io
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from bnnbench.engine.external.forms import BadPredictions
from bnnbench.engine.external.reading import read, read_content

RNG = np.random.default_rng(0)
ROWS = [f"{k}-{k:08x}" for k in range(6)]
PROBABILITIES = RNG.dirichlet(np.ones(3), size=(4, 6))


def npz(**arrays) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False).encode()


def parquet(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer)
    return buffer.getvalue()


def with_draws(rows=ROWS) -> pd.DataFrame:
    """Class probabilities with a line for each row and draw."""
    lines = [
        {"row": row, "draw": draw} | {f"p{k}": p for k, p in enumerate(PROBABILITIES[draw, n])}
        for draw in range(4)
        for n, row in enumerate(rows)
    ]
    return pd.DataFrame(lines)


@pytest.mark.parametrize("form", [csv, parquet])
def test_a_table_with_draws_gives_the_arrays_of_an_npz(form):
    (of_table,) = read_content(form(with_draws()), "table")
    (of_npz,) = read_content(npz(probabilities=PROBABILITIES, row=ROWS), "npz")
    found, expected = (one.prediction.arrays["log_probs"] for one in (of_table, of_npz))
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_allclose(found, np.log(PROBABILITIES))
    assert of_table.rows == of_npz.rows == tuple(ROWS)


def test_lines_of_draws_may_come_row_by_row():
    by_row = with_draws().sort_values("row", kind="stable")
    (one,) = read_content(csv(by_row), "table")
    np.testing.assert_allclose(one.prediction.arrays["log_probs"], np.log(PROBABILITIES))


TABLES = {
    "gaussian": (
        {"mean": [1.5, 2.0], "variance": [0.1, 0.2]},
        {"means": [[[1.5], [2.0]]], "variances": [[[0.1], [0.2]]]},
    ),
    "quantiles": (
        {"q0.5": [1.0, 2.0], "q0.05": [0.0, 1.5], "q.95": [3.0, 4.0]},
        {"levels": [0.05, 0.5, 0.95], "values": [[[0.0, 1.0, 3.0]], [[1.5, 2.0, 4.0]]]},
    ),
    "interval": (
        {"low": [0.0, 1.0], "high": [1.0, 3.0], "level": [0.9, 0.9]},
        {"level": 0.9, "low": [[0.0], [1.0]], "high": [[1.0], [3.0]]},
    ),
    "class_set": (
        {"in0": [1, 0], "in1": [0, 1], "level": [0.9, 0.9]},
        {"level": 0.9, "members": [[True, False], [False, True]]},
    ),
    "samples": (
        {"draw": [0, 0, 1, 1], "sample": [1.0, 2.0, 3.0, 4.0]},
        {"samples": [[[1.0], [2.0]], [[3.0], [4.0]]]},
    ),
    "categorical": (
        {"log_p1": np.log([0.25, 0.5]), "log_p0": np.log([0.75, 0.5])},
        {"log_probs": [np.log([[0.75, 0.25], [0.5, 0.5]])]},
    ),
}


@pytest.mark.parametrize("kind", TABLES)
def test_each_form_has_its_columns(kind):
    columns, expected = TABLES[kind]
    (one,) = read_content(csv(pd.DataFrame(columns)), "table")
    assert one.prediction.kind == kind
    assert one.prediction.points == 2
    assert one.prediction.arrays.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_array_equal(one.prediction.arrays[name], values)


def test_one_table_may_hold_many_folds_and_seeds():
    table = pd.DataFrame(
        [
            {"seed": seed, "fold": fold, "mean": 10 * fold + seed + 0.5 * k, "variance": 1.0}
            for fold in (3, 1) for seed in (0, 2) for k in range(2)
        ]
    )  # fmt: skip
    found = {(one.fold, one.seed): one for one in read_content(csv(table), "table")}
    assert found.keys() == {(3, 0), (3, 2), (1, 0), (1, 2)}
    assert found[3, 2].prediction.arrays["means"].ravel().tolist() == [32.0, 32.5]


def test_an_npz_says_its_fold_seed_and_digest():
    content = npz(means=[1.0], variances=[1.0], fold=7, seed=[2], rows_sha256="abc")
    (one,) = read_content(content, "file")
    assert (one.fold, one.seed, one.rows_sha256, one.rows) == (7, 2, "abc", ())


def test_a_folder_is_all_of_its_files(tmp_path):
    (tmp_path / "a.npz").write_bytes(npz(means=[1.0], variances=[1.0], fold=0))
    (tmp_path / "b.csv").write_text("mean,variance,fold\n2,1,1\n")
    (tmp_path / ".hidden").write_text("x")
    assert [one.fold for one in read(tmp_path)] == [0, 1]
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(
        BadPredictions, match=r"notes\.txt is none of \.npz, \.csv, \.parquet: leave"
    ):
        read(tmp_path)


def lines(text: str) -> bytes:
    return text.encode()


def swapped() -> pd.DataFrame:
    """A table whose second draw has two rows exchanged."""
    table = with_draws()
    table.loc[[6, 7], "row"] = table.loc[[7, 6], "row"].to_numpy()
    return table


BAD = {
    "no header": (lines("0.1,0.9\n0.2,0.8\n"), "number 0.1, but must contain column names"),
    "column": (lines("mean,varience\n1,1\n"), "'varience' is unknown .did you mean 'variance'"),
    "twice": (lines("mean,mean,variance\n1,1,1\n"), "'mean.1' is unknown"),
    "text": (lines("mean,variance\n1,one\n"), "variance contains 'one': give numbers"),
    "comma": (lines('mean,variance\n"1,5",1\n'), "mean contains '1,5': give numbers, with a"),
    "hole": (lines("mean,variance\n1,1\n,1\n"), "means at point 1 = nan is missing"),
    "ragged": (lines("mean,variance\n1,1\n1,2,3\n4,5,6,7\n"), "not a table .*: give csv"),
    "empty": (b"", "not a table"),
    "no lines": (lines("mean,variance\n"), "the table has no lines: give one"),
    "class": (lines("p0,p2\n0.5,0.5\n"), "p0, p2 do not match classes 0 to 1: give p0, p1"),
    "fold": (lines("fold,mean,variance\n0.5,1,1\n"), "fold needs whole numbers"),
    "no seed": (lines("seed,mean,variance\n0,1,1\n,1,1\n"), "seed needs whole numbers"),
    "two forms": (lines("mean,variance,low,high\n1,1,0,2\n"), "prediction from .*: give one of"),
    "row twice": (lines("row,mean,variance\na,1,1\na,1,1\n"), "row a occurs twice: predict"),
    "draws of rows": (
        csv(with_draws().drop(index=7)),
        "first draw has 6 lines and draw number 2 5: give a line for every row and draw",
    ),
    "order of draws": (csv(swapped()), "rows of draw number 2 differ from the first draw's"),
    "draws of intervals": (
        lines("draw,low,high,level\n0,1,2,0.9\n1,1,2,0.9\n"),
        "a column draw goes with probabilities, means and samples, not with low",
    ),
    "two levels": (lines("low,high,level\n1,2,0.9\n1,2,0.8\n"), "level is 0.8, 0.9: give one"),
    "two digests": (
        lines("rows_sha256,mean,variance\na,1,1\nb,1,1\n"),
        "rows_sha256 has 2 values for one fold and seed",
    ),
    "npy": (b"\x93NUMPY\x01\x00", "one array without a name: save it as npz"),
    "broken npz": (npz(means=[1.0], variances=[1.0])[:-30], "not a complete npz file"),
    "broken parquet": (parquet(with_draws())[:-30], "not a complete parquet file"),
    "names": (npz(means=[1.0, 2.0], variances=[1.0, 1.0], row=["a"]), "1 row names for 2 pred"),
    "half fold": (npz(means=[1.0], variances=[1.0], fold=0.5), "fold is 0.5: give one whole"),
    "two seeds": (npz(means=[1.0], variances=[1.0], seed=[0, 1]), r"seed is \[0, 1\]: give one"),
    "pickle": (npz(means=np.array([{}], object), variances=[1.0]), "not a complete npz .*objects"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_with_their_name_the_cause_and_the_cure(case):
    content, reason = BAD[case]
    with pytest.raises(BadPredictions, match=f"^my file: .*{reason}"):
        read_content(content, "my file")


@pytest.mark.parametrize("kind", ["absent", "empty folder", "fifo"])
def test_places_without_predictions_are_refused(tmp_path, kind):
    place = tmp_path / "place"
    if kind == "empty folder":
        place.mkdir()
    if kind == "fifo":
        import os

        os.mkfifo(place)
    reasons = {"absent": "does not exist", "empty folder": "is empty", "fifo": "cannot be read"}
    with pytest.raises(BadPredictions, match=reasons[kind]):
        read(place)


def test_a_pickle_in_an_npz_runs_nothing(tmp_path):
    class Trap:
        def __reduce__(self):
            return (print, ("sprung",))

    array = np.empty(1, object)
    array[0] = Trap()
    file = tmp_path / "trap.npz"
    np.savez(file, probabilities=array)
    code = (
        "import sys; from pathlib import Path\n"
        "from bnnbench.engine.external.reading import read\n"
        f"try: read(Path({str(file)!r}))\n"
        "except ValueError as error: print(error, 'torch' in sys.modules)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "sprung" not in told.stdout
    assert "without arrays of objects False" in told.stdout

"""Custom data from npz files and from folders saved by Hugging Face."""

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

from bnnbench.datasets.base import Categorical
from bnnbench.datasets.own.reading import digest, read
from bnnbench.datasets.own.table import own_table
from bnnbench.datasets.reading.columns import BadTable

WINE, LABELS = load_wine(return_X_y=True)
NAMES = ("barolo", "grignolino", "barbera")


def saved_arrays(folder, **arrays):
    np.savez(folder / "mine.npz", **arrays)
    return str(folder / "mine.npz")


def saved_table(folder, frame, features=None):
    """Write a folder as `Dataset.save_to_disk` does: Arrow streams, named by a state file."""
    pa = pytest.importorskip("pyarrow")
    folder.mkdir(parents=True)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if features:
        info = {"info": {"features": features}}
        table = table.replace_schema_metadata({"huggingface": json.dumps(info)})
    files = []
    for number, part in enumerate((table.slice(0, 60), table.slice(60))):
        files.append({"filename": f"data-0000{number}-of-00002.arrow"})
        path = str(folder / files[-1]["filename"])
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(part)
    (folder / "state.json").write_text(json.dumps({"_data_files": files}))
    return str(folder)


def test_arrays_are_a_table_with_their_names(tmp_path):
    names = [f"feature {k}" for k in range(13)]
    path = saved_arrays(tmp_path, inputs=WINE, targets=np.array(NAMES)[LABELS], names=names)
    frame = read(path)
    assert list(frame.columns) == [*names, "target"]
    np.testing.assert_array_equal(frame[names], WINE)
    source = own_table(path)
    assert (source.task, source.labels) == ("classification", tuple(sorted(NAMES)))
    assert source.load(0).likelihood == Categorical(3)


def test_targets_of_one_column_are_a_regression(tmp_path):
    path = saved_arrays(tmp_path, inputs=WINE[:, 1:], targets=WINE[:, :1])
    source = own_table(path)
    assert (source.task, source.target_column) == ("regression", "target")
    assert source.table(0).train_inputs.shape[1] == 12


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"inputs": WINE}, "name the column to predict with --target.*inputs_0"),
        ({"inputs": WINE, "targets": LABELS[:5]}, "one target per row; got shapes"),
        ({"inputs": WINE, "targets": LABELS, "names": ["a"]}, "1 names for 13 features"),
        ({"inputs": np.array([{}]), "targets": LABELS}, "cannot be read"),
    ],
)
def test_bad_arrays_are_refused(arrays, words, tmp_path):
    with pytest.raises(BadTable, match=words):
        own_table(saved_arrays(tmp_path, **arrays))


def test_a_saved_data_set_has_all_its_rows_and_the_names_of_classes(tmp_path):
    frame = pd.DataFrame(WINE, columns=[f"x{k}" for k in range(13)]).assign(label=LABELS)
    features = {"label": {"_type": "ClassLabel", "names": NAMES}, "x0": {"_type": "Value"}}
    path = saved_table(tmp_path / "wines", frame, features)
    found = read(path)
    assert found["label"].tolist() == [NAMES[label] for label in LABELS]
    np.testing.assert_array_equal(found.drop(columns="label"), WINE)
    assert own_table(path, "label").name == "wines"


def test_parts_of_a_saved_data_set_are_its_split(tmp_path):
    frame = pd.DataFrame(WINE, columns=[f"x{k}" for k in range(13)]).assign(label=LABELS)
    order = np.random.default_rng(0).permutation(len(frame))
    parts = {"train": order[:100], "validation": order[100:130], "test": order[130:]}
    for part, rows in parts.items():
        saved_table(tmp_path / "wines" / part, frame.iloc[rows])
    (tmp_path / "wines" / "dataset_dict.json").write_text(json.dumps({"splits": list(parts)}))
    source = own_table(str(tmp_path / "wines"), "label")
    assert (source.split, source.folds) == ("split", 1)
    assert source.table(0).test_targets.tolist() == LABELS[parts["test"]].tolist()
    assert len(source.table(0).train_targets) == 130


def test_a_folder_of_something_else_is_refused_with_the_cure(tmp_path):
    with pytest.raises(BadTable, match="needed a folder written by Hugging Face's save_to_disk"):
        own_table(str(tmp_path), "y")


def test_a_folder_with_other_content_has_another_digest(tmp_path):
    (tmp_path / "a").write_text("1")
    before = digest(str(tmp_path))
    (tmp_path / "a").rename(tmp_path / "b")
    renamed = digest(str(tmp_path))
    (tmp_path / "b").write_text("2")
    assert len({before, renamed, digest(str(tmp_path))}) == 3


@pytest.mark.parametrize("kind", ["fifo", "device", "loop", "long"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind):
    place = tmp_path / "place"
    match kind:
        case "fifo":
            os.mkfifo(place)
        case "device":
            place = Path("/dev/zero")
        case "loop":
            place.symlink_to(place)
        case "long":
            place = tmp_path / ("x" * 5000)
    with pytest.raises(BadTable, match="cannot be read"):
        own_table(str(place), "y")

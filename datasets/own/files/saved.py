"""Data sets saved to disk by Hugging Face: a folder of arrow files, or one folder for each part."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.datasets.reading.bounded import limit_of
from bnnbench.datasets.reading.columns import BadTable
from bnnbench.datasets.reading.parquet import joined

SPLITS = "split"
"""The column with the part of each row of a saved `DatasetDict`."""
PARTS = "dataset_dict.json"
STATE = "state.json"


def read_parts(folder: Path) -> pd.DataFrame:
    """Return all parts, with a column that says "test" or, for any other part, "train"."""
    parts = json.loads((folder / PARTS).read_text())["splits"]
    frames = []
    for part in parts:
        frame = read_arrow(folder / part)
        if SPLITS in frame.columns:
            raise BadTable(f"{folder} has a column {SPLITS!r}, reserved for its parts: rename it")
        frames.append(frame.assign(**{SPLITS: "test" if part == "test" else "train"}))
    together = pd.concat(frames, ignore_index=True)
    return together if "test" in parts and len(parts) > 1 else together.drop(columns=SPLITS)


def read_arrow(folder: Path) -> pd.DataFrame:
    """Return the table of a folder of arrow files, with class names in place of their numbers.

    Raises `BadTable` for rows chosen by indices, and `bounded.TooLarge`.
    """
    import pyarrow as pa

    state = json.loads((folder / STATE).read_text())
    if state.get("_indices_data_files"):
        raise BadTable(f"{folder} has indexed rows: call flatten_indices() before save_to_disk")
    tables = []
    for entry in state["_data_files"]:
        with pa.memory_map(str(folder / Path(entry["filename"]).name)) as source:
            stream = pa.ipc.open_stream(source)
            tables.append(joined(stream, stream.schema, limit_of(source.size())))
    table = pa.concat_tables(tables)
    return _labelled(table.to_pandas(), (table.schema.metadata or {}).get(b"huggingface", b"{}"))


def _labelled(frame: pd.DataFrame, metadata: bytes) -> pd.DataFrame:
    """Return the table with class names, which Hugging Face saves as numbers."""
    features: Mapping[str, Any] = json.loads(metadata).get("info", {}).get("features") or {}
    for name, feature in features.items():
        if isinstance(feature, Mapping) and feature.get("_type") == "ClassLabel":
            names = dict(enumerate(feature.get("names") or ()))
            frame[name] = frame[name].map(lambda number, names=names: names.get(number, number))
    return frame

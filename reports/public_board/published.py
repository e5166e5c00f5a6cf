"""Reader of the board's published results: a folder of parquet files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.datasets.reading import parquet
from bnnbench.datasets.reading.whole_files import read_regular
from bnnbench.estimators.scoringbench_names import DATASETS
from bnnbench.reports.public_board.names import IDENTITY

MODELS = "models.json"
"""The board's list of models with their organisations; it may lie in the folder, too."""
LFS = b"version https://git-lfs"
UNKNOWN = "publisher not stated"


def read_published(folder: Path) -> pd.DataFrame:
    """Return the published rows of our data sets, with a column `by` for the organisation.

    Rows that hold an error are left out; of equal model, data set and fold, the last counts.
    Raises ValueError for a folder without results of these data sets, and for a file that is not
    one of results, and ImportError without pyarrow.
    """
    tables = [_rows_of(path) for path in sorted(folder.rglob("*.parquet"))]
    if not tables:
        raise ValueError(
            f"{folder} has no parquet files: give a folder of the board's results, such as "
            "output_3000 of its results repository"
        )
    table = pd.concat(tables, ignore_index=True)
    if "error" in table:
        table = table.loc[table["error"].isna()]
    table = table.merge(pd.DataFrame({"dataset": list(DATASETS.values())}))
    if not len(table):
        raise ValueError(f"{folder} has no scores on {', '.join(DATASETS.values())}")
    by = {model: organisation for path in folder.rglob(MODELS) for model, organisation in _by(path)}
    table = table.drop_duplicates(list(IDENTITY), keep="last").reset_index(drop=True)
    return table.assign(by=[by.get(str(model), UNKNOWN) for model in table["model"]])


def _rows_of(path: Path) -> pd.DataFrame:
    """Return a file's rows; the model of a file without that column is the name of the file."""
    if path.read_bytes()[: len(LFS)] == LFS:
        raise ValueError(f"{path} is a pointer of Git LFS: fetch its content with `git lfs pull`")
    try:
        table = parquet.table_of(path).to_pandas()
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(f"{path} cannot be read as parquet: {error}") from error
    if missing := {"dataset", "fold"} - set(table):
        raise ValueError(f"{path} is not a file of results: it has no {' and no '.join(missing)}")
    if "model" not in table:
        table = table.assign(model=path.stem)
    names = {_plain(name): name for name in DATASETS.values()}
    known = [names.get(_plain(str(name)), str(name)) for name in table["dataset"]]
    return table.assign(dataset=known, fold=table["fold"].astype(int))


def _plain(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _by(path: Path) -> Iterator[tuple[str, str]]:
    """Yield model and organisation of a list of models; raises ValueError for another file."""
    try:
        models: Any = json.loads(read_regular(path))
        for model in models:
            if organisation := model.get("organization"):
                yield str(model["model_name"]), str(organisation)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} is not a list of models: {error!r}") from error

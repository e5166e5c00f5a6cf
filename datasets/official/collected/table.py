"""Tables of many fields for comparisons over data sets, each in splits of its own.

`tables.csv` lists them: 24 with a real target and 38 with classes, from 103 to 20,000 rows. Not all
count in a comparison: `bnnbench.datasets.health` has the rule.
"""

import io
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnnbench.datasets.base import Dataset, DataSource, Table, check_fold
from bnnbench.datasets.official.collected.archives import (
    ARCHIVES,
    of_one_download,
    prepared_file,
)
from bnnbench.datasets.official.collected.entries import ENTRIES, Entry
from bnnbench.datasets.official.collected.splitting import split, units_of
from bnnbench.datasets.official.uci import check_name
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.own.preparation import prepare
from bnnbench.datasets.reading import files, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.columns import column_of, texts_of
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.stand_ins import DiabetesAsUci, DigitsAsTable

LICENCES = {
    "evans": "MIT (repository); CC BY 4.0 (UCI)",
    "islp": "BSD-3-Clause (package ISLP)",
    "pydataset": "MIT (package); of the R packages",
    "keel": "none stated (KEEL); most CC BY 4.0 (UCI)",
}


@dataclass(frozen=True)
class CollectedTable:
    """One of the collected tables, by its name.

    Rows of one unit, and rows with equal inputs, are on one side of a split. Each category of a
    text column becomes a feature; missing numbers become the median of the training rows, with an
    indicator.
    """

    name: str

    def __post_init__(self) -> None:
        check_name(self.name, dict(ENTRIES))

    @property
    def entry(self) -> Entry:
        """The line of `tables.csv` on the table."""
        return ENTRIES[self.name]

    @property
    def origin(self) -> Origin:
        """The origin "original", "repackaged" if units are lost, or "subset"."""
        return self.entry.origin

    @property
    def folds(self) -> int:
        """The number of splits: 10, or 5 beyond 3,000 rows."""
        return self.entry.splits

    @property
    def target(self) -> tuple[str, str]:
        """The target's name and unit; classes have no unit."""
        return self.entry.target, self.entry.unit

    @property
    def classes(self) -> int:
        """The number of classes; 0 for regression."""
        return self.entry.classes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns, with the category if a feature encodes one."""
        return prepare(self.features()).names

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes in the order of their numbers; empty for regression."""
        prefix = "c" if self.entry.archive == "keel" else ""
        return tuple(label.removeprefix(prefix) for label in self._labels())

    @property
    def licence(self) -> str:
        """The licence that the publisher states."""
        return LICENCES[self.entry.archive]

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        """The prepared file."""
        return (prepared_file(self.entry),)

    @property
    def bytes(self) -> int:
        """The size of the download: of the table's file, or of the archive that contains it."""
        archive = ARCHIVES.get(self.entry.archive)
        while archive and archive.archive:
            archive = archive.archive
        return archive.bytes if archive else self.entry.member_bytes

    @cached(24)
    def load(self, fold: int) -> Dataset:
        """Return the split, standardised."""
        return tables.load(self, fold)

    def table(self, fold: int) -> Table:
        """Return the raw rows of a split; classes are numbers of the sorted labels."""
        check_fold(self, fold)
        return self.cut(*self.split(fold))

    def split(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the training and test rows of a split, whose number may exceed the folds."""
        classes = self.targets() if self.classes and not self.entry.split_by else None
        return split(self.units(), classes, self.name, number)

    def cut(self, train: np.ndarray, test: np.ndarray) -> Table:
        """Return a table of these rows."""
        features, targets = self.features(), self.targets()
        preparation = prepare(features, train)
        inputs = preparation.inputs(features)
        return tables.split_table(inputs, targets, train, test, self.classes, preparation.names)

    @cached(3)
    def frame(self) -> pd.DataFrame:
        """Return all rows of the prepared file, in its order."""
        content = io.BytesIO(files.read(prepared_file(self.entry)))
        return pd.read_csv(content, na_values=[""], keep_default_na=False)

    def features(self) -> pd.DataFrame:
        """Return the columns that methods are given."""
        return self.frame().drop(columns=[self.entry.column, *self.entry.dropped])

    def targets(self) -> np.ndarray:
        """Return the real targets, or the classes as numbers."""
        column = column_of(self.frame(), self.entry.column)
        if not self.classes:
            return column.to_numpy(np.float64)
        return np.searchsorted(self._labels(), texts_of(column).to_list()).astype(np.float64)

    @cached(3)
    def units(self) -> np.ndarray:
        """Return the number of each row's unit, which no split divides."""
        by = list(self.entry.split_by)
        return units_of(self.features(), self.frame().filter(by) if by else None)

    def _labels(self) -> tuple[str, ...]:
        texts = texts_of(column_of(self.frame(), self.entry.column))
        return tuple(sorted(set(texts))) if self.classes else ()

    def missing(self) -> tuple[str, ...]:
        """Return the prepared file if the data folder lacks it."""
        return files.missing(self.data_files)

    def fetch(self) -> None:
        """Download the published file and prepare it; tables of one archive come together."""
        files.fetch(of_one_download(self.entry))

    def fallbacks(self) -> tuple[DataSource, ...]:
        """Return the diabetes data, or scikit-learn's digits with as many classes."""
        return (DigitsAsTable(self.classes) if self.classes else DiabetesAsUci(),)

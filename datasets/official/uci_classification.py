"""Fourteen classification tables, from balanced to one positive in forty rows.

They come from github.com/jbrownlee/Datasets, pinned by checksum: files of UCI, KEEL and others,
without columns that only number the rows. Each category of a text column becomes a feature, and
missing numbers become the median of the training rows plus an indicator; all methods get the same
features.
"""

import io
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from bnnbench.datasets.base import Dataset, DataSource, Table, check_fold
from bnnbench.datasets.official.uci import check_name
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.own.preparation import prepare
from bnnbench.datasets.reading import files, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.columns import column_of
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.stand_ins import DigitsAsTable

COMMIT = "d20fcb6402ae34e653d4513b00f39257bb37ed7f"
FOLDS = 20
UCI = "CC BY 4.0 (UCI)"
MISSING_VALUE = "?"


@dataclass(frozen=True)
class _Set:
    files: tuple[DataFile, ...]
    """One table, or the official tables of training and test rows."""
    classes: int
    target: str
    licence: str = UCI
    left_out: tuple[int, ...] = ()
    """Columns that only number the rows, counted from 0."""


def _file(name: str, file: str, sha256: str, size: int) -> DataFile:
    urls = (
        f"https://raw.githubusercontent.com/jbrownlee/Datasets/{COMMIT}/{file}.csv",
        f"https://cdn.jsdelivr.net/gh/jbrownlee/Datasets@{COMMIT}/{file}.csv",
    )
    return DataFile(name, f"uci_classification/{file}.csv", f"sha256:{sha256}", size, urls)


SETS = {
    "adult": _Set(
        (
            _file(
                "adult",
                "adult-train",
                "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
                3_974_305,
            ),
            _file(
                "adult",
                "adult-test",
                "72567b94f5c1a6f8501377dd80f93892c3848ff071cf91ba47e00b0785a28074",
                2_003_132,
            ),
        ),
        2,
        "income above $50,000",
    ),
    "banknote": _Set(
        (
            _file(
                "banknote",
                "banknote_authentication",
                "d0539aaed2139ba7a587b3e34fb345ce503ff7d5d33dbf9912d8e195ce425cb9",
                46_400,
            ),
        ),
        2,
        "genuine or forged",
    ),
    "breast_cancer": _Set(
        (
            _file(
                "breast_cancer",
                "breast-cancer-wisconsin",
                "9c9dc50e62dbcece16e5707bdec7514f87230d0aa35798b9aaffbc77cf736f1f",
                14_486,
            ),
        ),
        2,
        "benign or malignant",
    ),
    "ecoli": _Set(
        (
            _file(
                "ecoli",
                "ecoli",
                "26836c66779f5ce2b0c4d21c0667dcfb89f2a408e3cdac7e38dbc63e0abd5691",
                12_811,
            ),
        ),
        8,
        "place of a protein",
    ),
    "german": _Set(
        (
            _file(
                "german",
                "german",
                "ec12a88b9fc14d74ba646ea0410cf7ff4533bec2eb61652f8ad76796bbfec017",
                79_793,
            ),
        ),
        2,
        "credit risk",
    ),
    "glass": _Set(
        (
            _file(
                "glass",
                "glass",
                "1b7039aa2d617c1827e790b55d45ac138dce06b5f2a3fb6c25f2f135b59ad2d0",
                11_154,
            ),
        ),
        6,
        "kind of glass",
    ),
    "haberman": _Set(
        (
            _file(
                "haberman",
                "haberman",
                "b4b7a32586a5668f9f4d6dc8be9d1bc8cd4822523affb1f6b5bfc350681ef3e2",
                3_103,
            ),
        ),
        2,
        "survival for five years",
    ),
    "ionosphere": _Set(
        (
            _file(
                "ionosphere",
                "ionosphere",
                "fd6dd7864b55d56dac0a1e6e24af9ccc35bf2555ac79af8ab9f3d1daa065ab83",
                76_466,
            ),
        ),
        2,
        "good or bad radar return",
    ),
    "mammography": _Set(
        (
            _file(
                "mammography",
                "mammography",
                "7d3dea3f075f30bbdbb8980e7725684059b4fe3d0f850fadd0f635f6993d8730",
                827_904,
            ),
        ),
        2,
        "microcalcification",
        "none stated (Woods et al., 1993)",
    ),
    "oil_spill": _Set(
        (
            _file(
                "oil_spill",
                "oil-spill",
                "acd090bfa475d6247183c53683a344235136e4e9133d99259ae7fe692870c0f0",
                230_924,
            ),
        ),
        2,
        "oil spill",
        "none stated (Kubat, Holte and Matwin, 1998)",
        left_out=(0,),
    ),
    "phoneme": _Set(
        (
            _file(
                "phoneme",
                "phoneme",
                "eacbb9f7a2b2135d067bff28ed7b9adb760f61f5e91f375f91e22e7e42ace24d",
                174_717,
            ),
        ),
        2,
        "nasal or oral vowel",
        "none stated (ELENA, KEEL)",
    ),
    "sonar": _Set(
        (
            _file(
                "sonar",
                "sonar",
                "3079c09b5d2789a0f96aff82c28e5164fafe2495c5f8da96c6c256c1bd25763f",
                87_775,
            ),
        ),
        2,
        "mine or rock",
    ),
    "thyroid": _Set(
        (
            _file(
                "thyroid",
                "new-thyroid",
                "b1e244cdb7764210cfbf2888c47a4a558c36acd3c5e25452c0255c09c0b2c0a0",
                4_843,
            ),
        ),
        3,
        "function of the thyroid",
    ),
    "wheat_seeds": _Set(
        (
            _file(
                "wheat_seeds",
                "wheat-seeds",
                "8dbd1853a4439afc113cfe07f290422c7ce3fe48745d71f3f7eaa027cd38fd6e",
                9_301,
            ),
        ),
        3,
        "variety of wheat",
    ),
}


class _Rows(NamedTuple):
    columns: pd.DataFrame
    targets: np.ndarray
    labels: tuple[str, ...]
    official_train: int
    """The number of official training rows, which come first; 0 without an official split."""


@dataclass(frozen=True)
class UciClassification:
    """One of `SETS`, by its name, in random stratified folds; adult has its official split."""

    name: str

    @property
    def origin(self) -> Origin:
        """The origin "original": the official files, by checksum."""
        return "original"

    def __post_init__(self) -> None:
        check_name(self.name, SETS)

    @property
    def folds(self) -> int:
        """The number of folds: 20, but 1 for adult."""
        return 1 if len(self.data_files) > 1 else FOLDS

    @property
    def target(self) -> tuple[str, str]:
        """The target's name; classes have no unit."""
        return SETS[self.name].target, ""

    @property
    def classes(self) -> int:
        """The number of classes."""
        return SETS[self.name].classes

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The numbers of the columns, with the category if a feature encodes one."""
        return tuple(f"column {name}" for name in prepare(self._rows().columns).names)

    @property
    def labels(self) -> tuple[str, ...]:
        """The classes as the file writes them."""
        return self._rows().labels

    @property
    def licence(self) -> str:
        """The licence that the publisher states."""
        return SETS[self.name].licence

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        """The file of the table, or the files of training and test rows."""
        return SETS[self.name].files

    @property
    def bytes(self) -> int:
        """The size of the download."""
        return sum(file.bytes for file in self.data_files)

    @cached(24)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised."""
        return tables.load(self, fold)

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold; targets number the labels in alphabetical order."""
        check_fold(self, fold)
        columns, targets, _, train_rows = self._rows()
        if train_rows:
            train, test = np.split(np.arange(len(targets)), [train_rows])
        else:
            train, test = tables.stratified_split(targets, fold)
        preparation = prepare(columns, train)
        inputs, names = preparation.inputs(columns), preparation.names
        return tables.split_table(inputs, targets, train, test, self.classes, names)

    @cached(3)
    def _rows(self) -> _Rows:
        parts = [_read(file) for file in self.data_files]
        frame = pd.concat(parts, ignore_index=True).rename(columns=str)
        label = frame.columns[-1]
        left_out = [frame.columns[place] for place in SETS[self.name].left_out]
        # Some labels are in quotes, and labels of adult's test rows end in a dot.
        labels = column_of(frame, label).astype(str).str.strip("'.")
        names, targets = np.unique(labels, return_inverse=True)
        assert len(names) == self.classes
        columns = frame.drop(columns=[label, *left_out])
        official_train = len(parts[0]) * (len(parts) > 1)
        return _Rows(columns, targets.astype(np.float64), tuple(map(str, names)), official_train)

    def missing(self) -> tuple[str, ...]:
        """Return the files that the data folder lacks."""
        return files.missing(self.data_files)

    def fetch(self) -> None:
        """Download missing files."""
        files.fetch(self.data_files)

    def fallbacks(self) -> tuple[DataSource, ...]:
        """Return scikit-learn's digits with as many classes."""
        return (DigitsAsTable(self.classes),)


def _read(file: DataFile) -> pd.DataFrame:
    return pd.read_csv(
        io.BytesIO(files.read(file)),
        header=None,
        skipinitialspace=True,
        na_values=[MISSING_VALUE],
        keep_default_na=False,
    )

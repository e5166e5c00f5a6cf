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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeAlias

from bnnbench.datasets.base import DataDamaged, DataUnavailable, Origin, Part
from bnnbench.datasets.reading.whole_files import whole

Content: TypeAlias = IO[bytes] | io.BufferedIOBase

CONNECT_SECONDS = 4.0
"""How long a host may take to answer before it counts as out of reach."""

READ_SECONDS = 60.0
ATTEMPTS = 2
"""How often a URL is tried when its host answers but the file arrives damaged."""


@dataclass(frozen=True)
class DataFile:
    """A file, its place in the data folder, and where it is had.

    `checksum` is "md5:..." or "sha256:...". A file comes from one of `urls`, the official one
    first, or is the member of the same path (or of path `member`) of an `archive`.
    """

    source: str
    path: str
    checksum: str
    bytes: int = 0
    urls: tuple[str, ...] = ()
    archive: "DataFile | None" = None
    member: str = ""

    @property
    def place(self) -> Path:
        """Where the file belongs."""
        return folder() / self.path


@dataclass(frozen=True)
class FileSet:
    """Files that are no data set by themselves and are fetched under one name."""

    name: str
    files: tuple[DataFile, ...]
    licence: str
    origin: Origin = "original"

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(file.bytes for file in self.files)

    def missing(self) -> tuple[str, ...]:
        """Return the files that the data folder lacks."""
        return missing(self.files)

    def fetch(self) -> None:
        """Download and verify what is missing; raises `DataUnavailable`."""
        fetch(self.files)


_verified: set[tuple[Path, str, int, int]] = set()
_answered: dict[str, bool] = {}


def folder() -> Path:
    """Return the data folder: `BNNBENCH_DATA`, else the user's cache folder."""
    if chosen := os.environ.get("BNNBENCH_DATA"):
        return Path(chosen).expanduser()
    try:
        import pooch
    except ImportError:  # nothing can be downloaded either; the folder may still hold files
        return Path.home() / ".cache" / "bnnbench"
    return Path(pooch.os_cache("bnnbench"))


def offline() -> bool:
    """Return whether `BNNBENCH_OFFLINE=1` forbids the network."""
    return os.environ.get("BNNBENCH_OFFLINE", "") not in ("", "0")


def needed(parts: Mapping[Part, tuple[DataFile, ...]], part: Part | None) -> tuple[DataFile, ...]:
    """Return the files of one part, or of all where `part` is None."""
    return parts[part] if part else tuple(file for files in parts.values() for file in files)


def missing(files: Iterable[DataFile]) -> tuple[str, ...]:
    """Return the places of the files that are not there; those that are, are not read."""
    return tuple(str(file.place) for file in files if not file.place.is_file())


def read(file: DataFile) -> bytes:
    """Return the content of a file whose checksum was verified.

    Raises DataUnavailable where there is no file and DataDamaged where it is not the right one.
    """
    try:
        content, stat = file.place.read_bytes(), file.place.stat()
    except FileNotFoundError:
        raise unavailable(file.source, [str(file.place)], "not in the data folder") from None
    seen = _seen(file, stat)
    if seen not in _verified:
        algorithm, expected = file.checksum.split(":")
        found = hashlib.new(algorithm, content, usedforsecurity=False).hexdigest()
        if found != expected:
            raise damaged(file, f"{len(content):,} bytes with {algorithm} {found}, not {expected}")
        _verified.add(seen)
    return content


def verified(file: DataFile) -> Path:
    """Return the place of a file whose checksum was verified, for one too large to hold.

    Raises DataUnavailable where there is no file and DataDamaged where it is not the right one.
    """
    try:
        seen = _seen(file, file.place.stat())
        if seen not in _verified:
            with file.place.open("rb") as content:
                found = _digest(content, file.checksum)
            if found != file.checksum:
                raise damaged(file, f"it has {found}, not {file.checksum}")
            _verified.add(seen)
    except FileNotFoundError:
        raise unavailable(file.source, [str(file.place)], "not in the data folder") from None
    return file.place


def _seen(file: DataFile, stat: os.stat_result) -> tuple[Path, str, int, int]:
    return file.place, file.checksum, stat.st_size, stat.st_mtime_ns


def damaged(file: DataFile, finding: str) -> DataDamaged:
    """Return the error that names a damaged file and its cure."""
    return DataDamaged(
        f"{file.place} is truncated or altered: {finding}. It was not used. "
        f"`bnnbench data fetch {file.source}` replaces it."
    )


def unavailable(source: str, places: Iterable[str], reason: str) -> DataUnavailable:
    """Return the error that names missing files and how to get them."""
    return DataUnavailable(
        f"{source}: {reason}. Needed: {', '.join(places)}. Run `bnnbench data fetch "
        f"{source}` on a machine with a network and copy the files there, or point "
        "BNNBENCH_DATA (--data-dir) to a folder that has them; --data auto takes a stand-in."
    )


def fetch(files: Iterable[DataFile]) -> None:
    """Download what is missing or damaged; every file appears whole and verified or not at all.

    Raises DataUnavailable, naming what was tried.
    """
    try:
        wanted = [file for file in files if not _intact(file)]
        for file in wanted:
            if file.archive is None:
                _download(file)
        for archive in dict.fromkeys(file.archive for file in wanted if file.archive):
            _unpack(archive, [file for file in wanted if file.archive == archive])
    except OSError as error:
        raise DataUnavailable(
            f"cannot use the data folder {folder()}: {error}. Choose another with "
            "--data-dir or BNNBENCH_DATA."
        ) from error


def _intact(file: DataFile) -> bool:
    try:
        with file.place.open("rb") as content:
            return _digest(content, file.checksum) == file.checksum
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
        if not _answers(url):
            tried.append(f"{url}: no answer")
        elif trouble := _retrieve(file, url):
            tried.append(f"{url}: {trouble}")
        else:
            return
    reason = "; ".join(tried) or "there is nowhere to download it from"
    raise unavailable(file.source, [str(file.place)], reason)


def _answers(url: str) -> bool:
    """Return whether the host of a URL answers at all, in bounded time even without DNS.

    Each host is asked once per process, and none any more when the first two were silent.
    """
    host = url.split("/")[2]
    if host not in _answered:
        if len(_answered) >= 2 and not any(_answered.values()):
            return False
        _answered[host] = _ask(url)
    return _answered[host]


def _ask(url: str) -> bool:
    import requests

    answers: list[int] = []

    def ask() -> None:
        with contextlib.suppress(requests.RequestException):
            response = requests.get(url, stream=True, timeout=CONNECT_SECONDS)
            answers.append(response.status_code)
            response.close()

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(CONNECT_SECONDS)
    return bool(answers)


def _retrieve(file: DataFile, url: str) -> str | None:
    """Download and verify one URL, and return what went wrong."""
    import pooch
    import requests

    pooch.get_logger().setLevel(logging.WARNING)
    downloader: Any = pooch.HTTPDownloader(
        progressbar=sys.stderr.isatty(), timeout=(CONNECT_SECONDS, READ_SECONDS)
    )
    trouble = None
    for _ in range(ATTEMPTS):
        try:
            pooch.retrieve(
                url,
                known_hash=file.checksum,
                fname=file.place.name,
                path=file.place.parent,
                downloader=downloader,
            )
            return None
        except requests.HTTPError as error:
            return str(error)
        except requests.RequestException as error:
            trouble = f"{type(error).__name__} after a part of the file"
        except ValueError:  # pooch's word for a checksum that differs
            trouble = f"what came does not have {file.checksum}"
    return trouble


def _unpack(archive: DataFile, files: list[DataFile]) -> None:
    """Take the named members out of an archive, which is removed again if it was downloaded.

    No other member is looked at and no path of the archive is used, so that none can lead
    out of the data folder.
    """
    kept = _intact(archive)
    if not kept:
        _download(archive)
    try:
        for file in files:
            with _member(archive, file.member or file.path) as content:
                _place(file, content)
    finally:
        if not kept:
            archive.place.unlink(missing_ok=True)


@contextlib.contextmanager
def _member(archive: DataFile, name: str) -> Iterator[Content]:
    try:
        if archive.path.endswith(".zip"):
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


def _place(file: DataFile, content: Content) -> None:
    """Write a verified file to its place, whole or not at all."""
    with whole(file.place) as copy:
        shutil.copyfileobj(content, copy, 2**20)
        copy.seek(0)
        if _digest(copy, file.checksum) != file.checksum:
            raise damaged(file, f"the member of its archive does not have {file.checksum}")

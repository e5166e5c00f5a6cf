"""Digests of a site's inputs and files, so that only changed reports are built again."""

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import bnnbench
from bnnbench import datasets, methods, metrics, reports, suites
from bnnbench.datasets.oracles import family
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.datasets.references import reading

NAME = "site.json"

ROOMS = (bnnbench, datasets, methods, metrics, suites, reports)
SUFFIXES = {".py", ".html", ".js", ".css", ".csv", ".toml"}
"""Packages of this project, and the endings of their files, that pages depend on."""

Digests = dict[Path, str]
"""File → digest of its content."""


@dataclass(frozen=True)
class Inputs:
    """All that a site depends on: its sources, files or folders, and the digest of the rest."""

    sources: Digests
    rest: str

    @property
    def digest(self) -> str:
        """The digest of everything."""
        return _digest([self.rest, *(f"{file} {sha256}" for file, sha256 in self.sources.items())])

    def digest_of(self, places: Sequence[Path], *more: object) -> str:
        """Return the digest of a report made from these folders, or files, of the sources.

        `more` is whatever else it depends on; only its text counts. Returns "" if a place has no
        file, which is the case for a second name of a folder.
        """
        parts = [self.rest, *map(str, (places, *more))]
        for place in places:
            place = place.absolute()
            files = [file for file in self.sources if file.is_relative_to(place)]
            if not files:
                return ""
            parts += (f"{file} {self.sources[file]}" for file in files)
        return _digest(parts)


def inputs(sources: Iterable[Path], options: Iterable[str]) -> Inputs:
    """Return the contents of the sources, which are files or folders, and the digest of the rest.

    The rest is the command's options; names and sizes of the data at hand, which pages of examples
    show; references and problems with known posteriors; the code of this project; and the versions
    of the installed packages.
    """
    parts = [*options, *_installed()]
    for room in ROOMS:
        code = (file for file in _files(Path(room.__path__[0])) if file.suffix in SUFFIXES)
        parts += (f"{file} {_sha256(file)}" for file in code)
    parts += (f"{file} {file.stat().st_size}" for file in _files(files.folder()))
    for folder in (reading.home(), family.home()):
        parts += (f"{file} {_sha256(file)}" for file in _files(folder))
    contents = {file: _sha256(file) for one in sources for file in _files(one.absolute())}
    return Inputs(contents, _digest(parts))


@functools.cache
def _installed() -> list[str]:
    return sorted({f"{one.name} {one.version}" for one in distributions()})


@dataclass(frozen=True)
class State:
    """The state of a site that was built."""

    digest: str = ""
    """The digest of its inputs; "" if something was damaged, which is then reported again."""
    files: Mapping[str, str] = field(default_factory=dict)
    """File, relative to the site's folder → digest of its content"""
    reports: Mapping[str, Any] = field(default_factory=dict)
    """Suite → the digest of its report's inputs, and the outcome of writing it, as JSON"""

    def is_whole(self, site: Path, folder: str = "") -> bool:
        """Return whether the files of a folder of the site are there and unaltered."""
        chosen = [name for name in self.files if Path(name).is_relative_to(folder)]
        return bool(chosen) and all(_sha256(site / n) == self.files[n] for n in chosen)


NOT_BUILT = State()


def read(site: Path) -> State:
    """Return the state of the site in a folder; `NOT_BUILT` if none can be read."""
    try:
        state = State(**_with_tuples(json.loads((site / NAME).read_bytes())))
    except (OSError, ValueError, TypeError):
        return NOT_BUILT
    parts = (state.files, state.reports)
    if not all(isinstance(part, dict) for part in parts):
        return NOT_BUILT
    entries = state.reports.values()
    whole = all(isinstance(one, dict) and {"digest", "written"} <= one.keys() for one in entries)
    return state if whole else NOT_BUILT


def _with_tuples(plain: Any) -> Any:
    """Return plain data with tuples in place of lists, as they were before they became JSON."""
    if isinstance(plain, dict):
        return {name: _with_tuples(value) for name, value in plain.items()}
    return tuple(map(_with_tuples, plain)) if isinstance(plain, list) else plain


def write(site: Path, digest: str, reports_by_suite: Mapping[str, Any]) -> None:
    """Write the state of a site that was just built. Raises OSError."""
    contents = {
        str(file.relative_to(site)): _sha256(file) for file in _files(site) if file.name != NAME
    }
    state = {"digest": digest, "files": contents, "reports": reports_by_suite}
    with contextlib.suppress(UnicodeEncodeError):  # some file's name is not text
        write_whole(site / NAME, json.dumps(state, indent=0).encode())


def _files(path: Path) -> Iterator[Path]:
    """Return a file, or the files of a folder in order; links are followed, but not in circles."""
    if not path.is_dir():
        yield from [path] if path.is_file() else []
    visited: set[str] = set()
    for folder, folders, names in os.walk(path, followlinks=True):
        if (place := os.path.realpath(folder)) in visited:
            folders.clear()
            continue
        visited.add(place)
        folders.sort()
        yield from (file for name in sorted(names) if (file := Path(folder, name)).is_file())


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def _sha256(file: Path) -> str:
    """Return the digest of a file's content, or the reason why it cannot be read."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        return repr(error)

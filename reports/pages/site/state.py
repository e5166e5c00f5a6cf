"""Digests of a site's inputs and files, so that an unchanged site is not built again."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path

import bnnbench
from bnnbench import datasets, methods, metrics, reports, suites
from bnnbench.datasets.reading import files
from bnnbench.datasets.reading.whole_files import write_whole

NAME = "site.json"

ROOMS = (bnnbench, datasets, methods, metrics, suites, reports)
SUFFIXES = {".py", ".html", ".js", ".css", ".csv", ".toml"}
"""Packages of this project, and the endings of their files, that pages depend on."""


def digest_of(sources: Iterable[Path], options: Iterable[str]) -> str:
    """Return the digest of all that a site depends on.

    These are the contents of the sources, which are files or folders; the command's options; names
    and sizes of the data at hand, which pages of examples show; the code of this project; and the
    versions of the installed packages.
    """
    parts = [*options, *sorted({f"{one.name} {one.version}" for one in distributions()})]
    for room in ROOMS:
        code = (file for file in _files(Path(room.__path__[0])) if file.suffix in SUFFIXES)
        parts += (f"{file} {_sha256(file)}" for file in code)
    parts += (f"{file} {file.stat().st_size}" for file in _files(files.folder()))
    for source in sources:
        parts += [str(source), *(f"{file} {_sha256(file)}" for file in _files(source))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def is_built(out: Path, digest: str) -> bool:
    """Return whether a folder has the site with this digest, all its files unaltered."""
    try:
        state = json.loads((out / NAME).read_bytes())
        contents = {out / name: sha256 for name, sha256 in state["files"].items()}
        return state["digest"] == digest and all(_sha256(f) == contents[f] for f in contents)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def forget(out: Path) -> None:
    """Remove the state, so that a site whose building was interrupted is built again."""
    (out / NAME).unlink(missing_ok=True)


def write(out: Path, digest: str) -> None:
    """Write the state of a site that was just built."""
    contents = {str(file.relative_to(out)): _sha256(file) for file in _files(out)}
    text = json.dumps({"digest": digest, "files": contents}, indent=0)
    with contextlib.suppress(UnicodeEncodeError):  # some file's name is not text
        write_whole(out / NAME, text.encode())


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


def _sha256(file: Path) -> str:
    """Return the digest of a file's content, or the reason why it cannot be read."""
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        return repr(error)

"""What a site was built from, in a file of its folder: an equal site is not built again."""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Iterator
from importlib.metadata import distributions
from pathlib import Path

from bnnbench import datasets, engine, methods, metrics, reports, suites
from bnnbench.datasets.reading.whole_files import write_whole

NAME = "site.json"

ROOMS = (datasets, engine, methods, metrics, suites, reports)
SUFFIXES = {".py", ".html", ".js", ".css", ".csv", ".toml"}
"""Packages of this project, and the endings of their files, that pages depend on."""


def digest_of(sources: Iterable[Path], options: Iterable[str]) -> str:
    """Return the digest of all that a site depends on.

    These are the contents of the sources, files or folders, the command's options, the code of this
    project and the versions of the installed packages.
    """
    versions = sorted({f"{one.name} {one.version}" for one in distributions()})
    parts = [*options, *versions]
    for room in ROOMS:
        folder = Path(room.__path__[0])
        parts += _lines(folder, (p for p in _files(folder) if p.suffix in SUFFIXES))
    for source in sources:
        parts += [str(source), *_lines(source, _files(source))]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


def is_built(out: Path, digest: str) -> bool:
    """Return whether a folder has the site with this digest, all its files unaltered."""
    try:
        state = json.loads((out / NAME).read_bytes())
        files = {out / name: sha256 for name, sha256 in state["files"].items()}
        return state["digest"] == digest and all(_sha256(f) == files[f] for f in files)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def forget(out: Path) -> None:
    """Remove the state, so that a site whose building was interrupted is built again."""
    (out / NAME).unlink(missing_ok=True)


def keep(out: Path, digest: str) -> None:
    """Write the state of a site that was just built."""
    files = {str(f.relative_to(out)): _sha256(f) for f in _files(out)}
    text = json.dumps({"digest": digest, "files": files}, indent=0)
    with contextlib.suppress(UnicodeEncodeError):  # some file's name is not text
        write_whole(out / NAME, text.encode())


def _files(path: Path) -> Iterator[Path]:
    """Return a file, or the files of a folder."""
    inside = sorted(path.rglob("*")) if path.is_dir() else [path]
    yield from (file for file in inside if file.is_file())


def _lines(folder: Path, files: Iterable[Path]) -> Iterator[str]:
    return (f"{file.relative_to(folder)} {_sha256(file)}" for file in files)


def _sha256(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()

"""The code that a fit runs on. A fit must not continue with changed code."""

import functools
import hashlib
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

_ROOT = Path(__file__).parent.parent
_PACKAGE = "bnnbench.methods."
_SOURCES = {".py", ".c", ".h", ".cu", ".cuh"}


def in_use() -> dict[str, str]:
    """Return source digests of the methods that this process has imported, by path.

    Sources in other languages count as used if a module next to them is.
    """
    modules = {Path(path) for path in map(_file, list(sys.modules)) if path}
    folders = {path.parent for path in modules}
    return {
        path.relative_to(_ROOT).as_posix(): digest
        for path, digest in digests().items()
        if path in modules or (path.suffix != ".py" and path.parent in folders)
    }


def changed(before: Mapping[str, str]) -> Iterable[str]:
    """Return the paths of sources that have changed."""
    present = digests()
    return [path for path, digest in before.items() if present.get(_ROOT / path) != digest]


def _file(module: str) -> str | None:
    if not module.startswith(_PACKAGE):
        return None
    return getattr(sys.modules.get(module), "__file__", None)


@functools.cache
def digests() -> dict[Path, str]:
    """Return digests of all sources, computed at the first call."""
    return {
        path: hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in sorted(_ROOT.rglob("*"))
        if path.suffix in _SOURCES and path.is_file()
    }

"""The files behind a module: its own, and those of the modules that it imports."""

import ast
import functools
import importlib.metadata
import re
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from pathlib import Path

import bnnbench

PROJECT = "bnnbench"

KERNELS = (".c", ".h", ".cu", ".cuh")
"""File name endings of sources in other languages; they count with the modules next to them."""

MODULE_IN_TEXT = re.compile(rf"{PROJECT}(\.\w+)+")
"""A string that names a module of this project, as passed to `importlib.import_module`."""

_version = functools.cache(importlib.metadata.version)


def own_sources(module: str) -> frozenset[Path]:
    """Return the files of a third-party module and of all that it imports, directly or indirectly.

    These are the modules of its package or, without a package, the files next to it, and the
    kernels in their folders. Installed modules are excluded.
    """
    files: dict[str, Path] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = None if name in files or is_ours(name) else counted_file(name, module)
        if file and "site-packages" not in file.parts:
            files[name] = file
            waiting += _imports(file, name)
    folders = {file.parent for file in files.values()}
    return frozenset(files.values()).union(*map(kernels_in, folders))


def packages_behind(module: str) -> Mapping[str, str]:
    """Return distribution → version of the packages that a module's own file imports."""
    file = file_of(module)
    names = {name.partition(".")[0] for name in _imports(file, module)} if file else set()
    distributions = _distributions()
    return {
        distribution: _version(distribution)
        for name in sorted(names - {PROJECT})
        for distribution in sorted(set(distributions.get(name, ())))
    }


def is_installed(module: str) -> bool:
    """Return whether a module belongs to an installed package, or to Python itself."""
    file = file_of(module)
    return file is None or "site-packages" in file.parts


def is_ours(name: str) -> bool:
    """Return whether a module belongs to this project."""
    return name.partition(".")[0] == PROJECT


def counted_file(name: str, first: str) -> Path | None:
    """Return the file of a module if it counts as a source of the module `first`, else None."""
    file = file_of(name)
    return file if file and (is_ours(name) or _is_beside(file, name, first)) else None


def kernels_in(folder: Path) -> tuple[Path, ...]:
    """Return a folder's sources in other languages."""
    return tuple(path for path in sorted(folder.iterdir()) if path.suffix in KERNELS)


@functools.cache
def file_of(name: str) -> Path | None:
    """Return the file of a module; None if it is built in or missing.

    It is found without importing its parent packages: they may need packages that this machine
    lacks, and naming a module must not run it.
    """
    if is_ours(name):
        return next(filter(None, (file_in(Path(p), name) for p in bnnbench.__path__)), None)
    loaded = sys.modules.get(name)
    origin = getattr(loaded, "__file__", None)
    if loaded is None:
        spec = _spec_of(name)
        origin = spec.origin if spec else None
    return Path(origin).resolve() if origin and origin.endswith(".py") else None


def _spec_of(name: str) -> ModuleSpec | None:
    """Return a module's spec without importing it or its parents; None if it is missing."""
    parent, _, _ = name.rpartition(".")
    outer = _spec_of(parent) if parent else None
    places = outer.submodule_search_locations if outer else None
    if not name or (parent and places is None):
        return None
    specs = (finder.find_spec(name, places) for finder in sys.meta_path)
    try:
        return next(filter(None, specs), None)
    except (ImportError, ValueError):
        return None


def file_in(folder: Path, name: str) -> Path | None:
    """Return the file of a module of this project in a folder that stands for `bnnbench`."""
    place = folder.joinpath(*name.split(".")[1:])
    candidates = place / "__init__.py", place.with_suffix(".py")
    return next((file.resolve() for file in candidates if file.is_file()), None)


def _is_beside(file: Path, name: str, first: str) -> bool:
    """Return whether a file belongs to a third-party module, and not to an installed package."""
    package = first.partition(".")[0]
    if name.partition(".")[0] == package:
        return True
    first_file = file_of(first)
    if first_file is None or first_file.name == "__init__.py" or "." in first:
        return False
    return file.parent == first_file.parent and "site-packages" not in file.parts


@functools.cache
def _imports(file: Path, name: str) -> tuple[str, ...]:
    """Return the names that a module imports, of modules or of parts of modules."""
    return tuple(dict.fromkeys(_imported(ast.parse(file.read_bytes()), file, name)))


def _imported(tree: ast.AST, file: Path, name: str) -> Iterator[str]:
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = origin_of(node, package)
            yield origin
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def origin_of(node: ast.ImportFrom, package: str) -> str:
    """Return the module named in a `from ... import`, resolving relative imports."""
    parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    return ".".join([*parents, *([node.module] if node.module else [])])


@functools.cache
def _distributions() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()

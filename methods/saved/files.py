"""Saving a posterior as a folder, and loading it."""

import hashlib
import importlib.metadata
import io
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bnnbench.datasets.reading import npz
from bnnbench.datasets.reading.bounded import TooLarge
from bnnbench.datasets.reading.whole_files import open_regular
from bnnbench.methods.networks.torch_module import name_of_factory
from bnnbench.methods.saved import documents, estimators
from bnnbench.methods.saved.decoding import Decoder
from bnnbench.methods.saved.encoding import Encoder
from bnnbench.methods.saved.errors import NotLoaded, NotSaved

DESCRIPTION, ARRAYS = "posterior.json", "arrays.npz"
VERSIONS = ("bnnbench", "torch", "numpy", "scikit-learn")
"""Packages on which last digits of predictions depend."""


def save(posterior: Any, path: str | os.PathLike[str], *, method: Any = None) -> None:
    """Write a posterior to a folder, from which `load` returns an equal one in any process.

    `method` is written down for readers and is not loaded. An earlier saved posterior is replaced.
    Raises `NotSaved` if a part has no description, or if `path` is anything else.
    """
    folder = Path(path)
    if folder.exists() and not (folder / DESCRIPTION).is_file():
        raise NotSaved(f"{folder} exists and is no saved posterior: choose another path")
    files = files_of(posterior, method)
    made = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    made.mkdir(parents=True)
    try:
        for name, content in files.items():
            (made / name).write_bytes(content)
        _replace(folder, made)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise


def is_saved(path: str | os.PathLike[str], method: Any) -> bool:
    """Return whether a folder has a posterior of this method, undamaged and of these versions."""
    folder = Path(path)
    try:
        content = documents.read(_read(folder / DESCRIPTION, documents.LONGEST))
        for name, digest in content["files"].items():
            _checked(name, lambda file, most: _read(folder / file, most), digest)
    except (NotLoaded, KeyError, AttributeError):
        return False
    return content.get("versions") == _versions() and content.get("method") == _described(method)


def load(path: str | os.PathLike[str], *, networks: Iterable[str | Callable[..., Any]] = ()) -> Any:
    """Return the posterior of a folder that `save` wrote; its tensors are on the CPU.

    No code in the folder is run, and none that it names is imported. `networks` are the factories
    of networks of your own that it may call, as functions or as "file.py:function". Raises
    `NotLoaded` for files that are damaged, newer than this version, or need code.
    """
    folder = Path(path)
    try:
        return loaded(lambda name, most: _read(folder / name, most), networks)
    except NotLoaded as error:
        raise NotLoaded(f"{folder} cannot be loaded: {error}") from error


def files_of(posterior: Any, method: Any = None) -> dict[str, bytes]:
    """Return the content of each file of a saved posterior."""
    encoder = Encoder()
    node = encoder.node(posterior)
    buffer = io.BytesIO()
    np.savez(buffer, **encoder.collected.arrays)  # pyright: ignore[reportArgumentType]
    files = {ARRAYS: buffer.getvalue()}
    for number, estimator in enumerate(encoder.estimators):
        files[f"estimator{number}.skops"] = estimators.packed(estimator)
    content = {
        "versions": _versions(),
        "method": _described(method),
        "files": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
        "posterior": node,
    }
    return {DESCRIPTION: documents.written(content), **files}


def loaded(
    read: Callable[[str, int | None], bytes], networks: Iterable[str | Callable[..., Any]] = ()
) -> Any:
    """Return the posterior, given a function from a file's name and largest size to its bytes."""
    content = documents.read(read(DESCRIPTION, documents.LONGEST))
    digests, node = content.get("files"), content.get("posterior")
    if not isinstance(digests, dict) or ARRAYS not in digests or not isinstance(node, dict):
        raise NotLoaded(f"{DESCRIPTION} lacks its files or its posterior")
    files = {name: _checked(name, read, digest) for name, digest in digests.items()}
    permitted = frozenset(map(name_of_factory, networks))
    try:
        arrays = npz.arrays_of(files.pop(ARRAYS))
        made = [estimators.unpacked(part, name) for name, part in files.items()]
        return Decoder(arrays, made, permitted).value(node)
    except NotLoaded as error:
        raise NotLoaded(f"{error}{_other_versions(content.get('versions'))}") from error
    except (ValueError, TooLarge) as error:
        raise NotLoaded(f"{ARRAYS}: {error}") from error
    except TypeError as error:
        raise NotLoaded(
            f"{DESCRIPTION}: a part is of another kind than its place needs: {error}"
        ) from error
    except RecursionError as error:
        raise NotLoaded("its parts are nested too deeply") from error


def _checked(name: str, read: Callable[[str, int | None], bytes], digest: object) -> bytes:
    if Path(name).name != name:
        raise NotLoaded(f"{name!r} is no file beside {DESCRIPTION}")
    content = read(name, None)
    if hashlib.sha256(content).hexdigest() != digest:
        raise NotLoaded(f"{name} has another digest than {DESCRIPTION} states: it was changed")
    return content


def _read(file: Path, most: int | None) -> bytes:
    try:
        with open_regular(file) as content:
            size = content.seek(0, io.SEEK_END)
            if most is not None and size > most:
                raise NotLoaded(f"{file.name} has {size:,} bytes, more than the limit of {most:,}")
            content.seek(0)
            return content.read()
    except FileNotFoundError as error:
        raise NotLoaded(f"there is no file {file.name} in it") from error
    except OSError as error:
        raise NotLoaded(f"{file.name} cannot be read: {error.strerror}") from error


def _replace(folder: Path, made: Path) -> None:
    """Put a new folder in the place of an earlier one."""
    old = made.with_name(f"{made.name}.old")
    if folder.exists():
        folder.rename(old)
    try:
        made.rename(folder)
    except BaseException:
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _described(method: Any) -> Any:
    return Encoder().node(method)


def _versions() -> dict[str, str]:
    return {name: _version(name) for name in VERSIONS}


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _other_versions(versions: object) -> str:
    """Return the versions with which a file was saved, where they differ from those here."""
    if not isinstance(versions, Mapping):
        return ""
    others = [f"{n} {v} (here {_version(n)})" for n, v in versions.items() if v != _version(n)]
    return f"; it was saved by {', '.join(others)}" if others else ""

"""Corrupted test sets written as files in the official layout."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from bnnbench.datasets.corruptions import corrupt
from bnnbench.datasets.corruptions.constants import SEVERITIES
from bnnbench.datasets.corruptions.files import blocks, official
from bnnbench.datasets.corruptions.levels import Images
from bnnbench.datasets.origins import Origin
from bnnbench.datasets.reading import whole_files

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class WrittenFile:
    """The MD5 of a written file; its origin is "original" if it equals the official file."""

    md5: str
    origin: Origin


def make_cifar_c(
    images: Images,
    labels: np.ndarray,
    folder: Path,
    names: Sequence[str],
    seed: int = 0,
    pool: Executor | None = None,
) -> Iterator[tuple[str, WrittenFile]]:
    """Write `labels.npy` and `NAME.npy` for each name, and yield each once it is written.

    A file has all images at severity 1, then at severity 2, and so on, and is written atomically.
    Files are written side by side by the pool, if there is one.
    Files that already match the MD5 in the folder's manifest are not written again. Raises
    ValueError for a folder with other images, another seed or other library versions.
    """
    identity = {
        "images": hashlib.sha256(np.ascontiguousarray(images).data).hexdigest(),
        "seed": seed,
        "versions": list(blocks.versions()),
    }
    manifest = _read_manifest(folder, identity)
    to_write = []
    for name in ("labels", *names):
        if name in manifest and _md5_of(folder / f"{name}.npy") == manifest[name].md5:
            yield name, manifest[name]
        else:
            to_write.append(name)
    for name, written in _write_each(images, labels, folder, to_write, seed, pool):
        manifest[name] = written
        content = identity | {"files": {name: asdict(file) for name, file in manifest.items()}}
        text = json.dumps(content, indent=1, sort_keys=True)
        whole_files.write_whole(folder / MANIFEST, text.encode())
        yield name, written


def _write_each(
    images: Images,
    labels: np.ndarray,
    folder: Path,
    names: Sequence[str],
    seed: int,
    pool: Executor | None,
) -> Iterator[tuple[str, WrittenFile]]:
    if pool is None:
        for name in names:
            yield name, _write(images, labels, folder, name, seed)
        return
    jobs = {pool.submit(_write, images, labels, folder, name, seed): name for name in names}
    for job in as_completed(jobs):
        yield jobs[job], job.result()


def _write(images: Images, labels: np.ndarray, folder: Path, name: str, seed: int) -> WrittenFile:
    digest = hashlib.md5(usedforsecurity=False)
    repeated = (len(SEVERITIES) * len(images), *(() if name == "labels" else images.shape[1:]))
    header = {"descr": "|u1", "fortran_order": False, "shape": repeated}
    with whole_files.whole(folder / f"{name}.npy") as content:
        np.lib.format.write_array_header_1_0(content, header)
        content.seek(0)
        digest.update(content.read())
        for severity in SEVERITIES:
            block = labels if name == "labels" else corrupt(images, name, severity, seed)
            raw = block.astype(np.uint8).tobytes()
            digest.update(raw)
            content.write(raw)
    return WrittenFile(digest.hexdigest(), _origin(images, name, digest.hexdigest()))


def _origin(images: Images, name: str, md5: str) -> Origin:
    archive = official.of(images)
    return "original" if archive and archive.checksums[name] == md5 else "generated"


def _md5_of(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as content:
        return hashlib.file_digest(content, "md5").hexdigest()


def _read_manifest(folder: Path, identity: dict[str, object]) -> dict[str, WrittenFile]:
    path = folder / MANIFEST
    if not path.is_file():
        if folder.is_dir() and (others := sorted(folder.glob("*.npy"))):
            raise ValueError(
                f"{others[0]} was not written by this command, since there is no {MANIFEST}: "
                "choose another folder with --out"
            )
        return {}
    try:
        content = json.loads(path.read_text())
        manifest = {name: WrittenFile(**fields) for name, fields in content.pop("files").items()}
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{path} is corrupt: {error}; remove {folder}") from error
    if content != identity:
        differing = [name for name in identity if content.get(name) != identity[name]]
        raise ValueError(
            f"{folder} was made with different {', '.join(differing)}: choose another folder "
            "with --out, or remove it"
        )
    return manifest

"""A submission: finished runs with their predictions, and their method's code, in one file.

It is a compressed tar archive of a store's folder `runs` and a folder `code`.
"""

import io
import lzma
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from bnnbench.datasets.reading.whole_files import open_regular, write_whole
from bnnbench.engine.store.store import PREDICTIONS, RECORD, CorruptRecord, Store

SUFFIX = ".submission.tar.xz"

LARGEST = 2 * 2**30
"""Maximum size in bytes of a submission's content."""

_RUN = re.compile(rf"runs/[0-9a-f]{{20}}/({re.escape(RECORD)}|{re.escape(PREDICTIONS)})")
_CODE = re.compile(r"code/[A-Za-z_]\w*\.(py|c|h|cu|cuh)")


def write(file: Path, store: Store, keys: list[str], code: Mapping[str, bytes]) -> None:
    """Write the runs of these keys, as stored, and the code by file name.

    Equal content gives equal bytes.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, content in (*_runs(store, keys), *sorted(_code(code))):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    write_whole(file, lzma.compress(packed.getvalue(), preset=6))


def _runs(store: Store, keys: list[str]) -> Iterator[tuple[str, bytes]]:
    for key in sorted(keys):
        record = store.read(key)
        yield f"runs/{key}/{RECORD}", (store.runs / key / RECORD).read_bytes()
        if record and record.outcome.predictions_sha256:
            yield f"runs/{key}/{PREDICTIONS}", store.packed(key)


def _code(code: Mapping[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for name, content in code.items():
        if not _CODE.fullmatch(f"code/{name}"):
            raise ValueError(f"{name} cannot be submitted: rename it to letters, digits and _")
        yield f"code/{name}", content


def unpack(file: Path, folder: Path) -> Store:
    """Write the content into an empty folder, and return its store; `folder / "code"` has the code.

    Raises `CorruptRecord` for a file that is truncated, or contains anything but runs and code.
    """
    try:
        with open_regular(file) as packed, lzma.open(packed) as stream:
            content = stream.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise ValueError(f"more than {LARGEST / 2**30:.0f} GiB of content")
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for entry in archive:
                if not entry.isfile() or not any(p.fullmatch(entry.name) for p in (_RUN, _CODE)):
                    raise ValueError(f"{entry.name!r} is neither a run's nor a method's file")
                extracted = archive.extractfile(entry)
                assert extracted is not None
                target = folder.joinpath(*PurePosixPath(entry.name).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(extracted.read())
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError, ValueError) as error:
        raise CorruptRecord(file, error, "ask its sender for `bnnbench submit` again") from error
    return Store(folder)

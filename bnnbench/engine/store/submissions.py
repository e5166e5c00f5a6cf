"""A submission: finished runs with their predictions, and their method's code, in one file.

It is a compressed tar archive of a store's folder `runs` and a folder `code`.
"""

import io
import lzma
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from bnnbench.datasets.reading.bounded import require_size
from bnnbench.datasets.reading.whole_files import open_regular, write_whole
from bnnbench.engine.store import archives
from bnnbench.engine.store.store import PREDICTIONS, RECORD, CorruptRecord, Store

SUFFIX = ".submission.tar.xz"

LARGEST = 2 * 2**30
"""Maximum size in bytes of a submission's content."""

LARGEST_FILE = 2**29
"""Maximum size in bytes of one file in it."""

LARGEST_TEXT = 2**26
"""Maximum size in bytes of a record or a file of code."""

ASK_AGAIN = "ask its sender for `bnnbench submit` again"

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
        with open_regular(file) as packed:
            for member in archives.members(archives.Unpacked(packed), LARGEST_FILE, LARGEST):
                if not any(pattern.fullmatch(member.name) for pattern in (_RUN, _CODE)):
                    raise ValueError(f"{member.name!r} is neither a run's nor a method's file")
                if not member.name.endswith(PREDICTIONS):
                    require_size(member.size, LARGEST_TEXT, repr(member.name))
                target = folder.joinpath(*PurePosixPath(member.name).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as unpacked:
                    unpacked.write(member.read())
    except FileExistsError as error:
        raise CorruptRecord(file, f"{error.filename} is in it twice", ASK_AGAIN) from error
    except (OSError, EOFError, lzma.LZMAError, tarfile.TarError, ValueError) as error:
        raise CorruptRecord(file, error, ASK_AGAIN) from error
    return Store(folder)

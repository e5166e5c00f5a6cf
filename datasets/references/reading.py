"""References read from their folders: certified or refused."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bnnbench.datasets.reading import finished_runs
from bnnbench.datasets.reading.whole_files import read_regular, write_whole
from bnnbench.datasets.references import calibration, certificate
from bnnbench.datasets.references.certificate import Refused
from bnnbench.datasets.references.draws import FunctionDraws, unpack

NAME = "references"
"""Name of the folder of references."""
CERTIFICATE, DRAWS, CALIBRATIONS, REJECTED = "certificate.json", "draws.npz", "sbc", "rejected"


@dataclass(frozen=True)
class Reference:
    """A certified posterior: draws of functions at the test rows, and their certificate."""

    folder: Path
    certificate: Mapping[str, Any]
    draws: FunctionDraws

    @property
    def name(self) -> str:
        """The name of the reference's folder."""
        return self.folder.name

    @property
    def identity(self) -> str:
        """The SHA-256 of the reference's draws."""
        return self.certificate["draws_sha256"]


def home() -> Path:
    """Return the folder of this project's references."""
    return finished_runs.part(NAME)


def read(folder: Path) -> Reference:
    """Return the reference in a folder; raises `Refused` if it cannot be trusted.

    The certificate's numbers, the sampler's calibration, and the draws' checksum, format and size
    are checked.
    """
    if not folder.is_dir():
        present = ", ".join(names(folder.parent)) or "none"
        raise Refused(f"{folder.parent} has no reference {folder.name}; it has {present}")
    try:
        stated = _json(folder / CERTIFICATE)
        certificate.check(stated)
        check_calibration(folder.parent / stated["sbc"])
        content = _bytes(folder / DRAWS)
        digest = hashlib.sha256(content).hexdigest()
        if digest != stated["draws_sha256"]:
            raise Refused(f"{DRAWS}: SHA-256 {digest}, needed {stated['draws_sha256']}")
        draws = unpack(content)
        points = len(stated["moments"]["mean"])
        if draws.f.shape[1] != points:
            raise Refused(f"{DRAWS}: {draws.f.shape[1]} test rows, needed {points}")
    except Refused as reason:
        raise Refused(f"{folder.name}: {reason}") from reason
    return Reference(folder, stated, draws)


def names(folder: Path) -> list[str]:
    """Return the sorted names of the references in a folder."""
    return sorted(path.parent.name for path in folder.glob(f"*/{CERTIFICATE}"))


def rejected(folder: Path) -> dict[str, list[str]]:
    """Return name → reasons for each posterior that failed certification."""
    paths = sorted((folder / REJECTED).glob("*.json"))
    return {path.stem: list(_json(path)["failed"]) for path in paths}


def require_data(reference: Reference, checksums: Mapping[str, object]) -> None:
    """Raise `Refused` unless data have the reference's checksums and sizes."""
    for name, expected in reference.certificate["data"].items():
        if checksums.get(name) != expected:
            raise Refused(
                f"{reference.name}: {name} does not match: got {checksums.get(name)}, needed "
                f"{expected}; is this the right fold of the original file?"
            )


def write(folder: Path, stated: Mapping[str, Any], draws: bytes) -> None:
    """Write a reference, the certificate last, so that an interrupted write leaves no reference."""
    write_whole(folder / DRAWS, draws)
    write_json(folder / CERTIFICATE, stated)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file atomically; raises ValueError for numbers that are not finite."""
    text = json.dumps(content, indent=1, allow_nan=False, default=_plain)
    write_whole(path, f"{text}\n".encode())


def check_calibration(path: Path) -> None:
    """Raise `Refused` unless the calibration in a file passes."""
    try:
        calibration.check(_json(path))
    except Refused as reason:
        raise Refused(f"{CALIBRATIONS}/{path.name}: {reason}") from reason


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} cannot be written as JSON")


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_bytes(path))
    except ValueError as error:
        raise Refused(f"{path.name} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise Refused(f"{path.name}: needed an object; got {type(content).__name__}")
    return content


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path)
    except OSError as error:
        raise Refused(f"{path.name} cannot be read: {error.strerror}") from error

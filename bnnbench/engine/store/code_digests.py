"""Table next to bundles: code digests (of meaning) for runs recorded with others.

These are digests of files, and, for methods that shared a fit, the digest of the first of them.
"""

import csv
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bnnbench.engine.declare.names import names_in
from bnnbench.engine.records.record import Record
from bnnbench.methods.source_code import SCHEME

FILE = "code_digests.csv"


class CodeDigest(NamedTuple):
    """A recorded digest, the classes of the method of the record, and their digest of meaning."""

    old: str
    classes: str
    new: str


def read(bundles: Path) -> Mapping[tuple[str, str], str]:
    """Return (recorded digest, classes) → digest of meaning, from the table of a folder of bundles.

    It is empty if neither the folder nor the one around it has a table.
    """
    for path in (bundles / FILE, Path(os.path.realpath(bundles)).parent / FILE):
        if path.is_file():
            with path.open(newline="") as file:
                return {(row["old"], row["classes"]): row["new"] for row in csv.DictReader(file)}
    return {}


def meaning_of(record: Record, classes: str, known: Mapping[tuple[str, str], str]) -> str | None:
    """Return the digest of meaning of the code that made a record; None if unknown.

    `classes` are its `class_names`.
    """
    digest = record.circumstances.code_sha256
    if digest is None:
        return None
    return known.get((digest, classes), digest if digest.startswith(SCHEME) else None)


def class_names(record: Record) -> str:
    """Return the registered names of a method's class and of the classes in its settings."""
    return " ".join(sorted(names_in(record.run.get("method"))))

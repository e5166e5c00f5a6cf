"""Records altered by somebody who can seal them."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bnnbench.engine.store.store import RECORD, Store


def sealed(fields: Mapping[str, Any]) -> str:
    """Return a record's file with a matching seal, whatever the fields are."""
    lines = (f"{json.dumps(name)}: {json.dumps(fields[name])}" for name in sorted(fields))
    body = "{\n" + ",\n".join(lines)
    return body + seal(body)


def seal(body: str) -> str:
    """Return the last line of a record's file."""
    return f',\n"sha256": "{hashlib.sha256(body.encode()).hexdigest()}"\n}}\n'


def fields_of(store: Store, key: str) -> dict[str, Any]:
    """Return the fields in a run's file, without the seal."""
    fields = json.loads((store.runs / key / RECORD).read_text())
    del fields["sha256"]
    return fields


def reseal(store: Store, key: str, **changes: Any) -> Path:
    """Change fields of a run's record, seal it, and return the file's path."""
    path = store.runs / key / RECORD
    path.write_text(sealed(fields_of(store, key) | changes))
    return path

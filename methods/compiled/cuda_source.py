"""CUDA sources with their headers inlined, so that compilers' caches see all of them."""

import re
from collections.abc import Sequence
from pathlib import Path


def with_headers(file: str, folders: Sequence[Path]) -> str:
    """Return a file of one of these folders, with each header inlined at its first inclusion."""
    seen: set[str] = set()

    def expanded(name: str) -> str:
        if name in seen:
            return ""
        seen.add(name)
        path = next(path for folder in folders if (path := folder / name).exists())
        text = path.read_text().replace("#pragma once\n", "")
        return re.sub(r'#include "(\w+\.cuh)"\n', lambda include: expanded(include[1]), text)

    return expanded(file)

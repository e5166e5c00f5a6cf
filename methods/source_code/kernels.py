"""Sources in other languages without comments and layout."""

import hashlib
import re
from pathlib import Path

from bnnbench.methods.source_code.files import kernels_in

_PROJECT_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"[^"\n]*"[^\n]*$', re.MULTILINE)
"""Headers of this project count as separate sources, whatever their names."""

_COMMENT_OR_TEXT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')""", re.DOTALL
)


_PLACE = "\ue000"
"""A character without meaning that replaces quoted text."""


def digests_of_kernels(folder: Path) -> list[str]:
    """Return the sorted SHA-256 of the sources in a folder, independently of their names."""
    texts = (plain(path.read_text(encoding="utf-8")) for path in kernels_in(folder))
    return sorted(hashlib.sha256(text.encode()).hexdigest() for text in texts)


def plain(text: str) -> str:
    """Return a C source without comments and layout; directives keep their own lines."""
    quoted: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        quoted.append(match[1])
        return _PLACE if match[1] else " "

    text = _PROJECT_HEADER.sub("", text.replace("\\\n", " "))
    text = _COMMENT_OR_TEXT.sub(replaced, text)
    lines = (line.strip() for line in text.split("\n"))
    text = "".join(f"\n{line}\n" if line.startswith("#") else f" {line} " for line in lines)
    text = re.sub(r"\s*\n\s*", "\n", re.sub(r"[^\S\n]+", " ", text))
    text = re.sub(r" *([^\w\s]) *", r"\1", text).strip()
    texts = filter(None, quoted)
    return re.sub(_PLACE, lambda _: next(texts), text)

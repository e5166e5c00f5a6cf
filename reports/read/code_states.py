"""Comparison of the code that made runs with today's, by digests of meaning."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from bnnbench.engine.declare.names import path_of
from bnnbench.engine.records.record import Record
from bnnbench.engine.store.code_digests import class_names, meaning_of
from bnnbench.methods.source_code import CONTRACT, Class, digest_of

CodeState = Literal["current", "earlier", "unknown"]

Digests = Mapping[tuple[str, str], str]
"""(Recorded digest, classes) → digest of meaning, where the former is another one."""


def code_state(record: Record, known: Digests) -> CodeState:
    """Return whether a run's method means the same today as when the run was made.

    It is unknown without a digest of meaning, and for third-party code, which is not here.
    """
    classes = class_names(record)
    then = meaning_of(record, classes, known)
    now = None if record.external else _today(classes)
    if then is None or now is None:
        return "unknown"
    return "current" if then == now else "earlier"


def in_words(states: Iterable[CodeState]) -> str:
    """Return the states of runs as text, such as "current" or "3 of 20 current"."""
    counts = Counter(states)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{count} of {counts.total()} {state}" for state, count in counts.items())


@functools.cache
def _today(names: str) -> str | None:
    """Return the digest of meaning of some classes, None unless all have registered names."""
    paths = {name: path_of(name) for name in names.split()}
    if not paths or any(name == path for name, path in paths.items()):
        return None
    return digest_of(*(Class.at(path) for path in paths.values()), *CONTRACT)

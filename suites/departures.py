"""Deviations from a paper's protocol, stated on pages before there are runs, and by records later.

Importing this file takes no time, so that a page of printed numbers needs no suite.
"""

import functools
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path


@functools.cache
def departures() -> Sequence[Mapping[str, object]]:
    """Return the entries of departures.toml, in their order."""
    text = (Path(__file__).parent / "departures.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["departures"]


def declared(profile: str, paper: str, table: str) -> tuple[str, ...]:
    """Return the departures of a profile, such as "uci/paper", from a table's protocol.

    A departure of some rows or data sets names these first.
    """
    return tuple(
        in_words(entry)
        for entry in departures()
        if profile in _listed(entry, "profiles") and table.lower() in _tables(entry, paper)
    )


def in_words(entry: Mapping[str, object]) -> str:
    """Return the text of a departure, after the rows and data sets that it is about."""
    names = [*_listed(entry, "methods"), *_listed(entry, "datasets")]
    return f"{', '.join(names)}: {entry['text']}" if names else str(entry["text"])


def _tables(entry: Mapping[str, object], paper: str) -> Sequence[object]:
    tables = entry["tables"]
    assert isinstance(tables, Mapping)
    return tables.get(paper, ())


def _listed(entry: Mapping[str, object], name: str) -> Sequence[str]:
    values = entry.get(name, [])
    assert isinstance(values, list)
    return values


OF_TABLE_1_OF_000 = (
    *declared("cifar10/paper", "000", "1"),
    "MP: groups take five steps of conjugate gradients, and after a visit's first iteration move "
    "half of the way",
    "MP: an example's own force is removed from the messages to its later layers (cavities); the "
    "paper uses marginals",
    "MP: sums over examples run in the order of a GPU's fused kernels, in float32 without TF32; "
    "a visit that fails is repeated with smaller groups",
    "MP: images are normalised by channel, as for all methods here; its script uses one mean and "
    "one deviation for all channels",
    "MP predicts from the marginals of all batches; its script from the state after the last batch",
    "AdamW and IVON: channels are standardised with the training images' mean and deviation, not "
    "with rounded constants",
)

# Paper and table of a profile that needs a GPU → our deviations from their protocol.
AWAITED: Mapping[tuple[str, str], tuple[str, ...]] = {("000", "1"): OF_TABLE_1_OF_000}

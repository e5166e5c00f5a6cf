"""Tables as people have them, each with the reading that its meaning asks for."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bnnbench.datasets.own.table import own_table
from bnnbench.datasets.reading.columns import BadTable
from tests.datasets.own.flats import TABLES


def written(folder: Path, content: str | bytes | Callable[[], bytes], ending: str = "csv") -> str:
    content = content() if callable(content) else content
    path = folder / f"flats.{ending}"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_read_as_its_meaning_asks(name, tmp_path):
    content, reading = TABLES[name]
    path = written(tmp_path, content, reading.ending)
    source = own_table(path, reading.target, **reading.options)
    preparation = source.preparation()
    values = dict(zip(preparation.names, preparation.inputs(source.rows()).T, strict=True))
    for feature, expected in reading.features.items():
        np.testing.assert_allclose(values[feature], np.array(expected, float), err_msg=feature)
    if reading.only is not None:
        assert preparation.names == reading.only
    assert not [feature for feature in values if feature.partition("=")[0] in reading.absent]
    assert source.labels == reading.labels
    if reading.targets is not None:
        targets = source.answers().values(source.rows()[reading.target])
        np.testing.assert_allclose(targets, reading.targets)
    for part in reading.lines:
        assert [line for line in source.lines if part in line], (part, source.lines)
    if not reading.lines:
        assert source.lines == ()
    rows = source.table(0)
    assert len(rows.train_targets) + len(rows.test_targets) == len(source.rows())


def told(name: str) -> bool:
    """Return whether something was decided about a table, rather than only doubted."""
    doubts = ("counts the rows;", "alone", "of the targets", "several rows", "is far", "join the")
    doubts = (*doubts, "repeat others", "are few")
    return any(not any(doubt in part for doubt in doubts) for part in TABLES[name][1].lines)


@pytest.mark.long
@pytest.mark.parametrize("name", [*filter(told, TABLES)])
def test_strict_reading_refuses_what_would_be_decided(name, tmp_path):
    content, reading = TABLES[name]
    path = written(tmp_path, content, reading.ending)
    with pytest.raises(BadTable):
        own_table(path, reading.target, strict=True, **reading.options)

"""Tables as people have them, each with the reading that its meaning asks for."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bnnbench.commands.compare import main
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
    for part, line in zip(reading.lines, source.lines, strict=True):
        assert part in line
    rows = source.table(0)
    assert len(rows.train_targets) + len(rows.test_targets) == len(source.rows())


@pytest.mark.parametrize("name", [name for name, (_, reading) in TABLES.items() if reading.strict])
def test_strict_reading_refuses_what_would_be_decided(name, tmp_path):
    content, reading = TABLES[name]
    path = written(tmp_path, content, reading.ending)
    with pytest.raises(BadTable, match=re.escape(reading.strict)):
        own_table(path, reading.target, strict=True, **reading.options)


@pytest.mark.parametrize("name", [n for n, (_, reading) in TABLES.items() if not reading.strict])
def test_strict_reading_is_the_same_where_nothing_is_decided(name, tmp_path):
    content, reading = TABLES[name]
    path = written(tmp_path, content, reading.ending)
    strict, lenient = (
        own_table(path, reading.target, strict=one, **reading.options) for one in (True, False)
    )
    assert strict == lenient
    assert strict.lines == lenient.lines


def test_the_option_refuses_a_table_with_the_cure(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    content, reading = TABLES["question marks"]
    path = written(tmp_path, content, reading.ending)
    assert main([path, "--target", reading.target, "--strict", "--dry-run"]) == 2
    assert f"error: column {reading.strict}\n" == capsys.readouterr().err

"""Predictions of bundled runs, read from an archive: faults, and their cure."""

import numpy as np
import pytest

from bnnbench.engine.store.bundles import write_predictions
from bnnbench.engine.store.store import CorruptRecord, sha256
from bnnbench.reports.read.predictions.bundled import BundledStore, spans_in
from tests.reports.synthetic import classified, keep, record


@pytest.fixture
def bundled(tmp_path):
    """A run's key, the archive of its predictions, and the store that reads it."""
    run = record()
    store = keep(
        tmp_path / "s", [run], {run.key: {"clean": classified(np.random.default_rng(0), 1)}}
    )
    content = store.packed(run.key)
    archive = write_predictions(tmp_path, {run.key: lambda: content})
    checksums = {run.key: sha256(content)}
    return run.key, archive, BundledStore(tmp_path / "b", spans_in([archive]), checksums)


def test_predictions_come_back(bundled):
    key, _, store = bundled
    assert list(store.predictions(key)) == ["clean"]


def test_a_run_that_no_archive_has_is_asked_for(bundled):
    _, _, store = bundled
    with pytest.raises(
        CorruptRecord, match=r"no archive has it; give one that has it by --predictions$"
    ):
        store.predictions("0" * 20)


def test_altered_predictions_are_to_be_copied_again(bundled):
    key, archive, store = bundled
    content = bytearray(archive.read_bytes())
    content[store.spans[key].start] ^= 1
    archive.write_bytes(content)
    with pytest.raises(CorruptRecord, match=f"{key} do not match .*; copy the archive again"):
        store.predictions(key)


def test_an_archive_that_is_gone_is_to_be_copied_again(bundled):
    key, archive, store = bundled
    archive.unlink()
    with pytest.raises(CorruptRecord, match=f"{archive.name}.*; copy the archive again"):
        store.predictions(key)

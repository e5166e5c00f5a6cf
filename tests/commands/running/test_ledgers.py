"""Ledgers of Slurm jobs on disk."""

from pathlib import Path

import pytest

from bnnbench.commands.running.ledgers import LEDGER, Entry, read, write
from bnnbench.engine.store.store import CorruptRecord

ENTRIES = [Entry("7", None, 1, {"a" * 20: None, "b" * 20: "2026-11-01T00:00:00"})]


def test_a_ledger_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path, ENTRIES)
    assert read(tmp_path / LEDGER) == ENTRIES


@pytest.mark.parametrize("text", ["", '[{"job": "7"', '[{"job": "7"}]', '[{"work": 1}]', "7"])
def test_a_damaged_ledger_is_named_with_its_cure(tmp_path: Path, text: str) -> None:
    path = tmp_path / LEDGER
    path.write_text(text)
    with pytest.raises(
        CorruptRecord, match=r"ledger\.json: truncated or altered: .*; check with squeue"
    ):
        read(path)

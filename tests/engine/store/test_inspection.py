"""Faults in a store are named, and repaired if possible."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bnnbench.engine.records.record_json import to_json
from bnnbench.engine.store.inspection import inspect, inspect_run
from bnnbench.engine.store.leases import LEASES, Leases
from bnnbench.engine.store.store import Store
from bnnbench.methods.checkpoints.files import Ledger
from tests.suites.fakes import Mean
from tests.suites.small_store import OUTCOMES, RUNS, alter, call, outcomes, tree, truncate


def place(store: Store) -> Path:
    return store.runs / RUNS[1].key


def rename_run(store: Store) -> Path:
    return place(store).rename(store.runs / ("a" * 20)) / "record.json"


def resettle(store: Store) -> Path:
    """Other settings under the same key, in a record that is sealed."""
    record = store.read(RUNS[1].key)
    path = place(store) / "record.json"
    path.write_text(to_json(replace(record, run={"fold": 9})))
    return path


def unrecord(store: Store) -> Path:
    (place(store) / "record.json").unlink()
    return place(store)


def unpredict(store: Store) -> Path:
    (place(store) / "predictions.npz").unlink()
    return place(store)


def move_out(store: Store) -> Path:
    return place(store).rename(store.runs / f".{RUNS[1].key}.abcd_123")


def leave_half(store: Store) -> Path:
    path = store.runs / f".{RUNS[1].key}.abcd_123"
    path.mkdir()
    (path / "predictions.npz").write_bytes(b"half")
    return path


def leave_file(store: Store) -> Path:
    path = place(store) / ".record.json.abcd_123"
    path.write_text("{")
    return path


def leave_table(store: Store) -> Path:
    path = store.folder / ".metrics.csv.abcd_123"
    path.write_text("suite")
    return path


def leave_curve(store: Store) -> Path:
    path = store.folder / "curves" / f"{'0' * 20}.npz"
    path.parent.mkdir()
    path.write_bytes(b"PK")
    return path


def leave_checkpoints(store: Store) -> Path:
    """The files of a command killed between the last run and the removal of its checkpoints."""
    path = store.folder / "checkpoints" / ("b" * 20)
    path.mkdir(parents=True)
    Ledger({"runs": [RUNS[0].key, RUNS[1].key]}).write(path)
    return path


def leave_claim(store: Store) -> Path:
    """The files of a killed driver."""
    script = """
import os, signal, sys
from pathlib import Path
from bnnbench.engine.store.leases import Leases
with Leases(Path(sys.argv[1])) as leases:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    folder = store.folder / LEASES
    project = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", script, str(folder)], cwd=project, check=False)
    (path,) = folder.glob("*.driver")
    return path


def leave_notes(store: Store) -> Path:
    path = store.runs / "notes.txt"
    path.write_text("mine")
    return path


def make_later(store: Store) -> Path:
    path = place(store) / "record.json"
    path.write_text(path.read_text().replace('"schema": 3', '"schema": 4'))
    return path


HARMS = {
    "truncated record": (lambda s: truncate(place(s) / "record.json"), "damaged", 3),
    "altered record": (lambda s: alter(place(s) / "record.json"), "damaged", 3),
    "truncated predictions": (
        lambda s: truncate(place(s) / "predictions.npz").parent, "damaged", 3),
    "altered predictions": (lambda s: alter(place(s) / "predictions.npz").parent, "damaged", 3),
    "missing predictions": (unpredict, "damaged", 3),
    "a run under another name": (rename_run, "damaged", 3),
    "settings of another run": (resettle, "damaged", 3),
    "a damaged curve": (leave_curve, "damaged", 3),
    "a later version": (make_later, "later", 3),
    "no record": (unrecord, "orphan", 1),
    "a half run": (leave_half, "orphan", 1),
    "a half file": (leave_file, "orphan", 1),
    "a half table": (leave_table, "orphan", 1),
    "checkpoints of finished runs": (leave_checkpoints, "orphan", 1),
    "a killed driver": (leave_claim, "orphan", 1),
    "a whole run beside its place": (move_out, "interrupted", 1),
    "a note": (leave_notes, "foreign", 1),
}  # fmt: skip


def test_a_sound_store_is_sound(store, capsys):
    assert call(capsys, "verify", store.folder.parent) == (0, f"{store.folder}: 4 valid runs\n")


@pytest.mark.parametrize("harm", HARMS)
def test_every_harm_is_named_with_its_cure_and_the_cure_works(store, capsys, harm):
    do, kind, code = HARMS[harm]
    path = do(store)
    (finding,) = inspect(Store(store.folder)).findings
    assert (finding.kind, finding.path) == (kind, path)
    found, told = call(capsys, "verify", store.folder)
    assert found == code
    assert f"{kind}: {path}: " in told
    assert "Remedy: " in told

    before = tree(store.folder)
    assert call(capsys, "gc", "--dry-run", store.folder)[0] == code
    assert tree(store.folder) == before
    left = call(capsys, "gc", store.folder)[0]
    if kind in ("later", "foreign"):
        assert left == code
        assert tree(store.folder) == before
        return
    assert left == 0
    assert call(capsys, "verify", store.folder)[0] == 0
    others = {run.key for run in RUNS} - {RUNS[1].key}
    assert others <= set(store.run_keys())
    dropped = (kind == "damaged" and harm != "a damaged curve") or harm == "no record"
    assert (store.read(RUNS[1].key) is None) == dropped


def test_third_party_files_in_a_damaged_run_survive_its_removal(store, capsys):
    (place(store) / "notes.txt").write_text("mine")
    truncate(place(store) / "record.json")
    assert call(capsys, "gc", store.folder)[0] == 1
    assert [path.name for path in place(store).iterdir()] == ["notes.txt"]
    assert store.read(RUNS[1].key) is None


def test_superseded_runs_are_sound_and_go_when_asked(store, capsys):
    (later,) = outcomes([replace(RUNS[1], method=Mean(shake=2.0))])
    store.write(later.record, later.predictions)
    code, told = call(capsys, "verify", store.folder)
    assert code == 0
    assert f"superseded: {place(store)}: Mean on line, fold 1, seed 0" in told
    assert call(capsys, "gc", store.folder)[0] == 0
    assert place(store).exists()
    assert call(capsys, "gc", "--superseded", store.folder)[0] == 0
    assert not place(store).exists()
    assert store.read(later.record.key)


def test_nothing_is_removed_while_a_command_writes(store, capsys):
    leave_half(store)
    before = tree(store.folder)
    with Leases(store.folder / LEASES):
        code, told = call(capsys, "gc", store.folder)
    assert code == 2
    assert f"process {os.getpid()}" in told
    assert tree(store.folder) == before


def test_what_a_living_command_has_moved_meanwhile_is_no_finding(store, capsys, monkeypatch):
    assert inspect_run(store, store.runs / f".{RUNS[1].key}.abcd_123") == ([], None)
    with monkeypatch.context() as patched:  # listed as a folder, but missing when it is read
        patched.setattr(Path, "is_dir", lambda path: True)
        assert inspect_run(store, store.runs / ("b" * 20)) == ([], None)
    with Leases(store.folder / LEASES):
        code, told = call(capsys, "verify", store.folder)
    assert code == 0
    assert "1 command running" in told


def test_names_that_are_no_characters_are_told_legibly(tmp_path, capsys):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/r\xff")
    store = Store(Path(folder) / "miniature")
    store.write(OUTCOMES[0].record, OUTCOMES[0].predictions)
    (store.runs / os.fsdecode(b"\xfe\xff")).mkdir()
    code, told = call(capsys, "verify", folder)
    assert code == 1
    assert r"r\xff/miniature/runs/\xfe\xff: a folder without a run" in told
    assert call(capsys, "list", folder)[0] == 0
    assert call(capsys, "merge", folder, "--out", tmp_path / "one")[0] == 0


@pytest.mark.parametrize("what", ["nowhere", "empty"])
def test_a_folder_without_results_is_named(tmp_path, capsys, what):
    (tmp_path / "empty").mkdir()
    for act in (["verify"], ["gc"], ["list"], ["merge", "--out", tmp_path / "out"]):
        code, told = call(capsys, *act, tmp_path / what)
        assert (code, str(tmp_path / what) in told) == (2, True)


def test_checkpoints_and_claims_of_what_still_runs_are_left_alone(store):
    path = leave_checkpoints(store)
    Ledger({"runs": [RUNS[0].key, "c" * 20]}).write(path)
    with Leases(store.folder / LEASES) as leases:
        assert leases.acquire("c" * 20)
        assert inspect(store).findings == ()

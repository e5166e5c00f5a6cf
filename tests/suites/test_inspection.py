"""What is wrong in a store is named, and what can be repaired is."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from datasets.conditions import Clean
from methods.checkpoint_files import Ledger
from suites import store as commands
from suites.engine.claims import Claims
from suites.engine.description import digest
from suites.engine.execute import Task, execute
from suites.engine.grid import Evaluation, Run
from suites.engine.inspection import CLAIMS, inspect
from suites.engine.record import from_json, to_json
from suites.engine.store import Store
from tests.suites.fakes import Diverging, Line, Mean

RUN = Run("miniature", "quick", "Mean", Line(), Mean(), (), fold=0, seed=0)
RUNS = [replace(RUN, fold=fold) for fold in range(3)]
SCHEMA_1 = Path(__file__).parent / "record_of_schema_1.json"


def outcomes(runs=RUNS):
    return [execute(Task((run,), (Evaluation(Clean(), ("rmse",)),)))[0] for run in runs]


OUTCOMES = outcomes([*RUNS, replace(RUN, label="Diverging", method=Diverging())])


@pytest.fixture
def store(tmp_path) -> Store:
    found = Store(tmp_path / "results" / "miniature")
    found.write_all((outcome.record, outcome.predictions) for outcome in OUTCOMES)
    return found


def call(capsys, *arguments) -> tuple[int, str]:
    code = commands.command([str(argument) for argument in arguments])
    told = capsys.readouterr()
    return code, told.out + told.err


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def place(store: Store) -> Path:
    return store.runs / RUNS[1].key


def truncate(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:-20])
    return path


def alter(path: Path) -> Path:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return path


def rename_run(store: Store) -> Path:
    return place(store).rename(store.runs / ("a" * 20))


def resettle(store: Store) -> Path:
    """Other settings under the same key, in a record that is sealed."""
    record = store.read(RUNS[1].key)
    (place(store) / "record.json").write_text(to_json(replace(record, run={"fold": 9})))
    return place(store)


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
    """What a command leaves that is killed between the last run and its checkpoints' end."""
    path = store.folder / "checkpoints" / ("b" * 20)
    path.mkdir(parents=True)
    Ledger({"runs": [RUNS[0].key, RUNS[1].key]}).write(path)
    return path


def leave_claim(store: Store) -> Path:
    """What a driver leaves that is killed."""
    script = """
import os, signal, sys
from pathlib import Path
from suites.engine.claims import Claims
with Claims(Path(sys.argv[1])) as claims:
    os.kill(os.getpid(), signal.SIGKILL)
"""
    folder = store.folder / CLAIMS
    project = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script, str(folder)], cwd=project, check=False)
    (path,) = folder.glob("*.driver")
    return path


def leave_notes(store: Store) -> Path:
    path = store.runs / "notes.txt"
    path.write_text("mine")
    return path


def make_later(store: Store) -> Path:
    path = place(store) / "record.json"
    path.write_text(path.read_text().replace('"schema": 2', '"schema": 3'))
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
    assert call(capsys, "verify", store.folder.parent) == (0, f"{store.folder}: 4 sound runs\n")


@pytest.mark.parametrize("harm", HARMS)
def test_every_harm_is_named_with_its_cure_and_the_cure_works(store, capsys, harm):
    do, kind, code = HARMS[harm]
    path = do(store)
    (finding,) = inspect(Store(store.folder)).findings
    assert (finding.kind, finding.path) == (kind, path)
    found, told = call(capsys, "verify", store.folder)
    assert found == code
    assert f"{kind}: {path}: " in told
    assert "Cure: " in told

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
    assert others <= set(store.keys())
    dropped = (kind == "damaged" and harm != "a damaged curve") or harm == "no record"
    assert (store.read(RUNS[1].key) is None) == dropped


def test_foreign_files_in_a_damaged_run_survive_its_removal(store, capsys):
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
    with Claims(store.folder / CLAIMS):
        code, told = call(capsys, "gc", store.folder)
    assert code == 2
    assert f"process {os.getpid()}" in told
    assert tree(store.folder) == before


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


# Schema 1


def test_records_of_schema_1_are_read_and_what_they_lack_is_unknown(store, capsys):
    record = from_json(SCHEMA_1.read_text())
    assert (record.schema, record.predictions_sha256) == (1, "unknown")
    assert (record.evaluations, dict(record.condition_data)) == ((), {})
    assert digest(record.run) == record.key


def test_gc_makes_no_checksum_up(store, capsys):
    path = place(store)
    fields = json.loads((path / "record.json").read_text())
    for name in ("sha256", "predictions_sha256", "evaluations", "condition_data"):
        del fields[name]
    (path / "record.json").write_text(json.dumps(fields | {"schema": 1}))
    before = tree(store.folder)
    code, told = call(capsys, "verify", store.folder)
    assert code == 0
    assert "4 sound runs, 1 of them without checksums (schema 1)" in told
    assert call(capsys, "gc", store.folder)[0] == 0
    assert tree(store.folder) == before
    again = Store(store.folder)
    again.rewrite(replace(again.read(path.name), method="Average"))
    found = Store(store.folder).read(path.name)
    assert (found.schema, found.predictions_sha256, found.method) == (2, "unknown", "Average")
    truncate(path / "predictions.npz")
    assert call(capsys, "verify", store.folder)[0] == 3


def test_checkpoints_and_claims_of_what_still_runs_are_left_alone(store):
    path = leave_checkpoints(store)
    Ledger({"runs": [RUNS[0].key, "c" * 20]}).write(path)
    with Claims(store.folder / CLAIMS) as claims:
        assert claims.take("c" * 20)
        assert inspect(store).findings == ()


# Lists


def test_runs_are_listed_by_what_is_asked_for(store, capsys):
    code, told = call(capsys, "list", store.folder)
    assert code == 0
    assert len(told.splitlines()) == 4
    for flags, count in (
        (["--method", "mean"], 3),
        (["--status", "diverged"], 1),
        (["--dataset", "line", "--method", "Mean"], 3),
        (["--dataset", "other"], 0),
    ):
        listed = json.loads(call(capsys, "list", "--json", *flags, store.folder)[1])
        assert len(listed) == count
    (row,) = json.loads(call(capsys, "list", "--json", "--status", "diverged", store.folder)[1])
    assert row["key"] == OUTCOMES[3].record.key


def test_a_damaged_record_does_not_end_the_list(store, capsys):
    truncate(place(store) / "record.json")
    code, told = call(capsys, "list", store.folder)
    assert code == 3
    assert f"damaged: {place(store)}" in told
    assert len(told.splitlines()) == 4


# Merging


@pytest.fixture
def two(tmp_path) -> tuple[Store, Store]:
    found = (Store(tmp_path / "a" / "miniature"), Store(tmp_path / "b" / "miniature"))
    for store, some in zip(found, (OUTCOMES[:2], OUTCOMES[1:]), strict=True):
        store.write_all((outcome.record, outcome.predictions) for outcome in some)
    return found


def merged(two, capsys):
    folders = [store.folder.parent for store in two]
    out = folders[0].parent / "out"
    before = [tree(folder) for folder in folders]
    code, told = call(capsys, "merge", *folders, "--out", out)
    assert [tree(folder) for folder in folders] == before
    assert not list(out.parent.glob(".*"))
    return Store(out / "miniature"), code, told


def test_equal_runs_are_merged_to_one(two, capsys):
    out, code, told = merged(two, capsys)
    assert (code, "4 runs, 1 of them equal in several" in told) == (0, True)
    assert "differs" not in told
    assert not inspect(out).findings
    assert {r.key for r in out.records()} == {o.record.key for o in OUTCOMES}
    for outcome in OUTCOMES[:3]:
        assert out.packed(outcome.record.key) == outcome.predictions
    assert (out.folder / "metrics.csv").exists()


def test_of_runs_that_differ_the_later_one_is_taken_and_a_line_says_so(two, capsys):
    first, _ = two
    key = OUTCOMES[1].record.key
    other = replace(OUTCOMES[1].record, scores={"clean": {"rmse": 9.0}})
    first.clock.see("2031-01-01T00:00:00+00:00")
    first.write(other, OUTCOMES[0].predictions)
    out, code, told = merged(two, capsys)
    assert code == 0
    assert f"({key}) differs: " in told
    assert f"taken from {first.folder}" in told
    assert out.read(key) == Store(first.folder).read(key)
    assert out.packed(key) == OUTCOMES[0].predictions


def test_a_run_that_failed_on_another_machine_later_does_not_hide_one_that_ended_well(two, capsys):
    first, second = two
    key = OUTCOMES[1].record.key
    second.clock.see("2031-01-01T00:00:00+00:00")
    second.write(replace(OUTCOMES[1].record, status="failed", error="no memory", scores={}), None)
    out, _, told = merged(two, capsys)
    assert out.read(key).status == "completed"
    assert f"taken from {first.folder}" in told


def test_a_damaged_run_is_taken_from_the_store_that_has_it_whole(two, capsys):
    _, second = two
    key = OUTCOMES[1].record.key
    alter(second.runs / key / "predictions.npz")
    truncate(second.runs / OUTCOMES[2].record.key / "record.json")
    out, code, told = merged(two, capsys)
    assert code == 3
    assert "1 runs are whole nowhere" in told
    assert str(second.runs / OUTCOMES[2].record.key) in told
    assert out.packed(key) == OUTCOMES[1].predictions
    assert not inspect(out).findings


def test_a_merge_that_fails_leaves_nothing(two, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    out, code, told = merged(two, capsys)
    assert (code, "No space left" in told) == (2, True)
    assert not out.folder.parent.exists()


def test_a_merge_into_a_folder_with_something_in_it_is_refused(two, capsys):
    (two[0].folder.parent.parent / "out").mkdir()
    (two[0].folder.parent.parent / "out" / "mine").write_text("")
    _, code, told = merged(two, capsys)
    assert (code, "is there already" in told) == (2, True)

"""Links, FIFOs and strange records in a store: nothing third-party is removed, no tool hangs."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import bnnbench
from bnnbench.commands.planning.plan import plan
from bnnbench.commands.report import main as report
from bnnbench.engine.run.checkpoints import discard
from bnnbench.engine.store import cleaning
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.methods.checkpoints.files import Ledger
from bnnbench.reports.read.load import read
from tests.faults.resealed import fields_of, reseal, seal, sealed
from tests.records import changed
from tests.suites.miniature import QUICK
from tests.suites.small_store import OUTCOMES, RUNS, call, tree
from tests.warm import python

pytestmark = pytest.mark.long


KEY = RUNS[0].key


@pytest.fixture
def store(tmp_path) -> Store:
    store = Store(tmp_path / "results" / "miniature")
    store.write_all((outcome.record, outcome.predictions) for outcome in OUTCOMES)
    return Store(store.folder)


# Links


@pytest.mark.parametrize("name", ["checkpoints", "curves", ".jobs", ".claims"])
def test_gc_removes_nothing_behind_a_link(store, tmp_path, capsys, name):
    elsewhere = tmp_path / "elsewhere"
    for folder in ("theses", "b" * 20, "host-1-0123abcd"):
        (elsewhere / folder).mkdir(parents=True)
        (elsewhere / folder / "ledger.json").write_text("mine")
    (elsewhere / f"{'a' * 20}.npz").write_text("mine")
    (elsewhere / "x.driver").write_text("mine")
    (store.folder / name).symlink_to("../../elsewhere")
    before = tree(elsewhere)
    call(capsys, "gc", "--superseded", store.folder.parent)
    assert tree(elsewhere) == before


def test_gc_removes_no_run_behind_a_link(store, tmp_path, capsys):
    store.runs.rename(tmp_path / "elsewhere")
    store.runs.symlink_to("../../elsewhere")
    reseal(store, KEY, status="odd")
    before = tree(tmp_path / "elsewhere")
    code, told = call(capsys, "gc", store.folder)
    assert code == 3
    assert "behind a symbolic link, which gc does not follow" in told
    assert tree(tmp_path / "elsewhere") == before
    assert {record.key for record in read(store.folder).records} == {
        outcome.record.key for outcome in OUTCOMES[1:]
    }


def test_third_party_files_among_checkpoints_stay(store, capsys):
    fit = store.folder / "checkpoints" / ("b" * 20)
    fit.mkdir(parents=True)
    Ledger({"runs": [KEY]}).write(fit)
    (fit / "thesis.tex").write_text("mine")
    (store.folder / "checkpoints" / "notes.txt").write_text("mine")
    assert call(capsys, "gc", store.folder)[0] == 1
    discard(store.folder / "checkpoints", [KEY])
    assert (fit / "thesis.tex").exists()
    assert not (fit / "ledger.json").exists()
    assert (store.folder / "checkpoints" / "notes.txt").exists()


# Files that hang a reader

FIFOS = (
    f"runs/{KEY}/record.json",
    f"runs/{KEY}/predictions.npz",
    f"runs/{'a' * 20}",
    f"curves/{'a' * 20}.npz",
    f"checkpoints/{'b' * 20}/ledger.json",
    ".claims/host-1-0123abcd.driver",
    f".claims/{KEY}.claim",
    ".metrics.csv.abcd_123",
)

TOOLS = """
import sys
from pathlib import Path
import bnnbench
from bnnbench.commands.report import main
from bnnbench.commands.store import command
for results in sys.argv[1:]:
    print("results", results, flush=True)
    print([command([tool, results]) for tool in ("verify", "gc", "list")])
    print(main([results, "--out", results + ".site"]))
    try:
        bnnbench.results(results)
    except ValueError as error:
        print(error)
"""


def test_a_fifo_hangs_no_tool_and_is_left_and_named(store, tmp_path, project):
    """One process reads a store with each FIFO; if it hangs, its output ends with the store."""
    paths = {}
    for number, name in enumerate(FIFOS):
        results = tmp_path / str(number)
        shutil.copytree(store.folder.parent, results)
        paths[str(results)] = path = results / store.folder.name / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    answer = subprocess.run(
        python("-c", TOOLS, *paths),
        cwd=project,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    _, *parts = re.split("^results ", answer.stdout, flags=re.MULTILINE)
    told = {results: said for results, _, said in (part.partition("\n") for part in parts)}
    assert told.keys() == paths.keys()
    for results, path in paths.items():
        assert path.is_fifo()
        assert path.name.startswith(".metrics") or str(path.parent) in told[results]


# Drivers

STOPPED = """
import sys, time
from pathlib import Path
from bnnbench.engine.store.leases import Leases
with Leases(Path(sys.argv[1])):
    print("ready", flush=True)
    time.sleep(60)
"""


def test_gc_leaves_the_store_of_a_driver_that_was_stopped_long_ago(store, project, capsys):
    folder = store.folder / ".claims"
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(folder)], cwd=project, stdout=subprocess.PIPE
    ) as driver:
        assert driver.stdout.readline() == b"ready\n"
        os.kill(driver.pid, signal.SIGSTOP)
        try:
            (heartbeat,) = folder.glob("*.driver")
            os.utime(heartbeat, (time.time() - 2 * cleaning.DEAD_SECONDS,) * 2)
            writing = store.runs / f".{KEY}.abcd_123"
            writing.mkdir()
            code, told = call(capsys, "gc", store.folder)
            assert (code, writing.is_dir()) == (2, True)
            assert f"in use by process {driver.pid}" in told
        finally:
            driver.kill()


# Strange records that are sealed

HALF = "\ud800"
STRANGE = {
    "half a character": {"error": HALF},
    "half a character in a name": {"method": HALF},
    "origins that are a list": {"condition_origins": ["original"]},
    "origins that are None": {"condition_origins": None},
    "origins of another condition": {"condition_origins": {"other": "original"}},
    "an origin that is a list": {"condition_origins": {"clean": ["original"]}},
    "traits that are a list": {"condition_traits": ["clean"]},
    "traits that are None": {"condition_traits": None},
    "traits of one condition that are None": {"condition_traits": {"clean": None}},
    "a family that is text": {"condition_traits": {"clean": {"title": "x", "family": "y"}}},
    "no title": {"condition_traits": {"clean": {"clean": True}}},
    "a cost that is text": {"cost": ""},
    "a cost without seconds": {"cost": {"peak_bytes": 1.0}},
    "settings that are a list": {"run": []},
    "settings of another run": {"run": {"fold": 0, "method": {"type": "x"}}},
    "another fold": {"fold": 7},
    "a status": {"status": "won"},
    "scores that are text": {"scores": {"clean": {"rmse": "small"}}},
    "a huge number": {"scores": {"clean": {"rmse": 10**400}}},
    "a huge name": {"dataset": "x" * 50_000_000},
    "a target without a mean": {"target": {"name": "height"}},
    "a date of the year 9999": {"provenance": {"chosen": "9999-01-01T00:00:00.000+00:00"}},
    "a date that is none": {"provenance": {"chosen": "zzz"}},
    "packages that are a list": {"provenance": {"packages": ["torch"]}},
    "a claim that is text": {"reproduces": ["000"]},
}


@pytest.mark.parametrize("case", STRANGE)
def test_a_strange_record_is_damaged_for_every_tool_and_the_page_stands(
    store, tmp_path, capsys, case
):
    path = reseal(store, KEY, **STRANGE[case])
    with pytest.raises(CorruptRecord) as raised:
        store.read(KEY)
    assert len(str(raised.value)) < 2_000
    results, site = store.folder.parent, tmp_path / "site"
    for command in ("verify", "list"):
        code, told = call(capsys, command, results)
        assert (code, str(path) in told) == (3, True)
    assert call(capsys, "merge", results, "--out", tmp_path / "merged")[0] == 3
    assert not (tmp_path / "merged" / "miniature" / "runs" / KEY).exists()
    assert report([str(results), "--out", str(site)]) == 3
    assert KEY in (site / "miniature" / "report.html").read_text()
    assert report(["export", str(results), "--format", "csv", "--out", str(site / "x.csv")]) == 3
    with pytest.raises(CorruptRecord, match=KEY):
        bnnbench.results(results)
    planned = plan(QUICK, Store(store.folder), "cpu", "missing")
    assert [error.path for error in planned.damaged] == [path]
    assert KEY not in {run.key for task in planned.tasks for run in task.runs}


def test_gc_leaves_a_record_of_the_future_as_the_clock_may_be_wrong(store, capsys):
    path = reseal(store, KEY, provenance={"finished": "2999-01-01T00:00:00.000+00:00"})
    code, told = call(capsys, "gc", store.folder)
    assert code == 3
    assert f"left: {path} (future: " in told
    assert path.exists()


def test_settings_nested_beyond_all_reason_are_damaged(store, capsys):
    deep = "[" * 900 + "]" * 900
    fields = fields_of(store, KEY) | {"facts": {"deep": "HERE"}}
    path = store.runs / KEY / "record.json"
    body = sealed(fields).rpartition(',\n"sha256"')[0].replace('"HERE"', deep)
    path.write_text(body + seal(body))
    with pytest.raises(CorruptRecord, match="not in the shape"):
        store.read(KEY)


def test_a_huge_message_is_cut_on_the_page(store, tmp_path):
    failed = OUTCOMES[3].record.key
    reseal(store, failed, error=f"Traceback\n{'x' * 50_000_000}\nValueError: no")
    site = tmp_path / "site"
    assert report([str(store.folder.parent), "--out", str(site)]) == 0
    page = (site / "miniature" / "report.html").read_text()
    assert "ValueError: no" in page
    assert "characters are left out here" in page
    assert sum(path.stat().st_size for path in site.rglob("*.*")) < 5e6


# Scores


def test_a_resealed_score_is_false_when_scored_again(store, capsys):
    reseal(store, KEY, scores={"clean": {"rmse": 0.0001}})
    assert call(capsys, "verify", store.folder)[0] == 0
    code, told = call(capsys, "verify", "--rescore", store.folder)
    assert code == 3
    assert f"false: {store.runs / KEY}: rmse under clean is 0.0001 and not " in told


def test_scores_without_predictions_are_false(store, capsys):
    reseal(store, KEY, scores={"clean": {"rmse": 0.0001}}, predictions_sha256=None)
    (store.runs / KEY / "predictions.npz").unlink()
    code, told = call(capsys, "verify", "--rescore", store.folder)
    assert code == 3
    assert "clean has scores without predictions" in told


def test_a_sound_store_is_sound_when_scored_again(store, capsys):
    expected = (0, f"{store.folder}: 4 valid runs\n")
    assert call(capsys, "verify", "--rescore", store.folder) == expected


def test_bytes_in_the_name_of_a_file_are_written_as_text(store):
    failed = OUTCOMES[3].record
    store.write(changed(failed, error=f"cannot read {os.fsdecode(bytes([255]))}"), None)
    assert Store(store.folder).read(failed.key).outcome.error == "cannot read \\udcff"
    assert json.loads(Path(store.runs / failed.key / "record.json").read_text())

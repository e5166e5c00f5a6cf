"""Full disks, corrupted bytes, two writers at once, clocks that go backwards: nothing is lost.

`BNNBENCH_FAULTS=10000` injects that many faults; CI injects fewer.
"""

import io
import os
import random
import resource
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from bnnbench.commands import store as commands
from bnnbench.engine.declare.description import digest
from bnnbench.engine.records import clock as clocks
from bnnbench.engine.records.clock import Clock
from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.engine.run.packing import pack, unpack, vars_of
from bnnbench.engine.store import durable
from bnnbench.engine.store.store import CorruptRecord, Store, Unwritable
from bnnbench.methods.predictions.predictive import GaussianPredictive
from bnnbench.reports.read.load import read as read_results
from tests.engine.records.test_record import RECORD, numbered
from tests.records import changed
from tests.suites.small_store import OUTCOMES
from tests.warm import python

FAULTS = int(os.environ.get("BNNBENCH_FAULTS", "400"))


def packed(points: int = 50) -> bytes:
    rng = torch.Generator().manual_seed(points)
    means = torch.randn(2, points, 1, generator=rng)
    return pack({"clean": (GaussianPredictive(means, torch.ones_like(means)), means[0])})


def hurt(content: bytes, rng: random.Random) -> bytes:
    """Return the content with one fault, as by disks, cables and hands."""
    place = rng.randrange(len(content))
    other = bytearray(content)
    match rng.randrange(7):
        case 0:
            other[place] ^= 1 << rng.randrange(8)
        case 1:
            other[place : place + rng.randrange(1, 600)] = rng.randbytes(rng.randrange(600))
        case 2:
            other = other[:place]
        case 3:
            other[place:place] = rng.randbytes(rng.randrange(1, 9))
        case 4:
            size = rng.randrange(1, 4097)
            other[place : place + size] = bytes(len(other[place : place + size]))
        case 5:
            other += rng.randbytes(rng.randrange(1, 50))
        case 6:
            other[place : place + rng.randrange(1, 50)] = b""
    return bytes(other)


def test_every_corruption_of_a_record_is_found():
    content = to_json(OUTCOMES[0].record).encode()
    rng = random.Random(0)
    for _ in range(FAULTS * 5):
        if (other := hurt(content, rng)) != content:
            with pytest.raises(ValueError, match=r"."):
                from_json(other.decode())


@settings(max_examples=FAULTS)
@given(st.binary(max_size=300) | st.text(max_size=300).map(str.encode))
def test_whatever_is_no_record_is_refused_in_words(content):
    with pytest.raises(ValueError, match=r"."):
        from_json(content.decode())


def test_every_corruption_of_predictions_is_found(tmp_path):
    store, content = Store(tmp_path), packed()
    store.write(RECORD, content)
    path, rng = store.runs / RECORD.key / "predictions.npz", random.Random(2)
    for _ in range(FAULTS):
        if (other := hurt(content, rng)) != content:
            path.write_bytes(other)
            with pytest.raises(
                CorruptRecord, match=rf"{path}.*remove {path.parent} to run it again"
            ):
                store.predictions(RECORD.key)


def test_corrupted_predictions_without_a_checksum_are_refused_or_the_same(tmp_path):
    """The archive's own CRC32 covers every value; bytes that it does not cover have no effect."""
    content, rng = packed(), random.Random(3)
    before = unpack(content)["clean"]
    found = 0
    for _ in range(FAULTS):
        try:
            after = unpack(hurt(content, rng))
        except Exception:  # that `Store.predictions` makes one error of them is tested above
            found += 1
            continue
        if "clean" in after:
            for name, tensor in vars_of(after["clean"][0]).items():
                assert torch.equal(tensor, vars_of(before[0])[name])
    assert found > FAULTS / 2


def test_a_report_names_every_damaged_record_and_has_the_rest(tmp_path):
    store = Store(tmp_path / "miniature")
    runs = store.write_all((outcome.record, outcome.predictions) for outcome in OUTCOMES)
    path = store.runs / runs[0].key / "record.json"
    content, rng = path.read_bytes(), random.Random(4)
    for _ in range(FAULTS // 4):
        if (other := hurt(content, rng)) != content:
            path.write_bytes(other)
            results = read_results(store.folder)
            assert [damage.key for damage in results.damage] == [runs[0].key]
            assert {r.key for r in results.records} == {r.key for r in runs[1:]}


WORDS = (
    *("verify", "gc", "list", "merge", "--dry-run", "--superseded", "--out", "--json"),
    *("--method", "--status", "", "-", "--", "\x00", "\udcff", "../..", "/dev/null", "~", "*"),
)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """Return an empty folder in an empty folder in an empty folder."""
    folder = tmp_path_factory.mktemp("empty") / "in" / "it"
    folder.mkdir(parents=True)
    return folder


@settings(max_examples=FAULTS)
@given(words=st.lists(st.sampled_from(WORDS) | st.text(max_size=8), max_size=5))
def test_a_command_line_of_any_words_ends_in_a_code(empty, words):
    """In empty folders, so that there is nothing to change."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
    before = Path.cwd()
    os.chdir(empty)
    try:
        code = commands.command([w.replace("/dev/null", "/dev/null/x") for w in words])
    except SystemExit as exit:  # argparse
        code = exit.code
    finally:
        told, (sys.stdout, sys.stderr) = sys.stdout, streams
        os.chdir(before)
    assert code in (0, 2), told


# Disks


def test_a_full_disk_is_named_and_nothing_is_lost(tmp_path):
    """A filesystem of 256 KiB if this process may mount one, else a limit on file sizes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = mount(disk)
    try:
        store, kept, size = Store(disk / "miniature"), [], 2_000
        with nullcontext() if mounted else limited_files(150_000):
            while True:
                record = numbered(len(kept))
                try:
                    kept.append(store.write(record, packed(size)))
                except Unwritable as error:
                    told = str(error)
                    break
                size += 0 if mounted else 3_000
                assert len(kept) < 100
            with pytest.raises(Unwritable):
                store.write(replace(kept[0], method="Average"), packed(20_000))
        assert kept
        assert f"cannot write results to {store.folder}" in told
        assert ("No space left" if mounted else "File too large") in told
        there = Store(store.folder)
        assert sorted(there.records(), key=lambda r: r.seed) == kept
        for record in kept:
            assert unpack(there.packed(record.key))
        assert [p.name for p in sorted(store.runs.iterdir())] == sorted(r.key for r in kept)
        assert commands.command(["verify", str(disk)]) == 0
    finally:
        if mounted:
            subprocess.run(["umount", str(disk)], check=True)


def mount(place: Path) -> bool:
    """Return whether a small filesystem is at `place` now."""
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


class limited_files:
    """No file of this process grows beyond this many bytes, as on a full disk."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __enter__(self) -> None:
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (self._size, self._before[1]))

    def __exit__(self, *_: object) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)
        signal.signal(signal.SIGXFSZ, self._handler)


def test_a_limit_on_files_is_a_full_disk_as_well(tmp_path):
    store = Store(tmp_path)
    kept = store.write(RECORD, packed(10))
    with limited_files(20_000), pytest.raises(Unwritable, match="File too large"):
        store.write(RECORD, packed(10_000))
    with limited_files(100), pytest.raises(Unwritable, match="File too large"):
        store.rewrite(kept)
    assert list(Store(tmp_path).records()) == [kept]
    assert [p.name for p in store.runs.iterdir()] == [RECORD.key]


@pytest.mark.parametrize("call", ["fsync", "rename", "chmod"])
def test_wherever_a_write_fails_the_earlier_run_stays(tmp_path, monkeypatch, call):
    store = Store(tmp_path)
    kept = store.write(RECORD, packed(10))

    def broken(*_, **__):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(durable.os, call, broken)
    with pytest.raises(Unwritable, match="Input/output error"):
        store.write(replace(RECORD, method="Average"), packed(20))
    monkeypatch.undo()
    assert list(Store(tmp_path).records()) == [kept]
    assert store.packed(RECORD.key) == packed(10)


READ_ONLY = """
import os, sys
from pathlib import Path
from dataclasses import replace
from bnnbench.engine.store.store import Store, Unwritable
store = Store(Path(sys.argv[1]))
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
(record,) = store.records()
for act in (lambda: store.write(record, None), lambda: store.rewrite(record)):
    try:
        act()
    except Unwritable as error:
        print(error)
"""


def test_a_folder_that_may_only_be_read_is_named(tmp_path, project):
    """As another user, since root may write everything."""
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_mode & 0o5 != 0o5:
            folder.chmod(0o755)
    store = Store(tmp_path)
    store.write(RECORD, packed(10))
    for folder in (store.runs, store.runs / RECORD.key):
        folder.chmod(0o555)
    try:
        told = subprocess.run(
            python("-c", READ_ONLY, str(tmp_path)),
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        for folder in (store.runs, store.runs / RECORD.key):
            folder.chmod(0o755)
    assert told.stdout.count(f"cannot write results to {tmp_path}: Permission denied") == 2, told
    assert len(list(store.records())) == 1


# Two writers

WRITER = """
import sys
from pathlib import Path
from bnnbench.engine.store.store import Store
from tests.records import changed
from tests.engine.store.test_damage import packed
from tests.engine.records.test_record import RECORD
store, name = Store(Path(sys.argv[1])), sys.argv[2]
content = {size: packed(size) for size in (10, 500)}
print("ready", flush=True)
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    size = 10 if number % 2 else 500
    kept = store.write(changed(RECORD, method=name, diagnostics={"points": size}), content[size])
    if number % 3 == 0:
        store.rewrite(changed(kept, facts={"again": number}))
"""


@pytest.mark.long
@pytest.mark.parametrize("exchange", [True, False])
def test_of_two_that_write_one_run_again_and_again_one_is_always_there_whole(
    tmp_path, project, exchange
):
    without = "import bnnbench.engine.store.durable as d\nd.exchange = lambda *_: False\n"
    code = ("" if exchange else without) + WRITER
    store = Store(tmp_path)
    store.write(changed(RECORD, diagnostics={"points": 10}), packed(10))
    writers = [
        subprocess.Popen(
            python("-c", code, str(tmp_path), name, "25"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=project,
        )
        for name in ("a", "b")
    ]
    for writer in writers:
        assert writer.stdout.readline() == b"ready\n"
    for writer in writers:
        writer.stdin.write(b"go\n")
        writer.stdin.close()
    looks = missing = 0
    while any(writer.poll() is None for writer in writers):
        looks += 1
        record = Store(tmp_path).read(RECORD.key)
        missing += record is None
    assert [writer.wait() for writer in writers] == [0, 0]
    for writer in writers:
        writer.stdout.close()
    assert looks > 20
    assert missing == 0 or not exchange
    record = Store(tmp_path).read(RECORD.key)
    (prediction, _) = Store(tmp_path).predictions(RECORD.key)["clean"]
    assert prediction.means.shape[1] == record.outcome.diagnostics["points"]
    assert [path.name for path in store.runs.iterdir() if not path.name.startswith(".")] == [
        RECORD.key
    ]


# Clocks

OTHER = {"method": {"type": "x:Z"}}


def test_what_was_chosen_last_is_last_though_the_clock_was_set_back(tmp_path, monkeypatch):
    ahead = iter(("2026-05-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"))

    class Machine(clocks.datetime):
        @classmethod
        def now(cls, tz=None):
            return clocks.datetime.fromisoformat(next(ahead))

    first, second = RECORD, replace(RECORD, run=OTHER, key=digest(OTHER))
    monkeypatch.setattr(clocks, "datetime", Machine)
    Store(tmp_path).write(first, None)
    store = Store(tmp_path)
    list(store.records())  # as a command does first
    kept = store.write(second, None)
    assert kept.circumstances.provenance["chosen"] == "2026-05-01T00:00:00.001+00:00"
    assert Store(tmp_path).current() == [kept]


@given(st.lists(st.datetimes().map(str) | st.text(max_size=20), max_size=20))
def test_every_time_is_later_than_all_that_were_seen(seen):
    clock: Clock = Clock()
    told = []
    for time in seen:
        clock.see(time)
        told.append(clock.now())
    assert told == sorted(set(told)) or clock.latest.year == 9999

"""When checkpoints are written, which are used, and the cost of damaged ones."""

import errno
import io
import json
import os
import shutil
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bnnbench.methods.checkpoints import checkpoint
from bnnbench.methods.checkpoints import code as checkpoint_code
from bnnbench.methods.checkpoints import files as checkpoint_files
from bnnbench.methods.checkpoints.files import LEDGER, Ledger, Stage, write_state
from bnnbench.methods.fitting import progress
from bnnbench.methods.fitting.training import Stack
from tests.methods.killing import counted, files, kept, killed_in
from tests.methods.problems import classification, stream


def walk(steps: int = 4, seed: int = 0) -> list[float]:
    """Return the path of a random walk in two stages, whose state has parts of all kinds."""
    rng, position, seen = stream(seed), torch.zeros(3), []
    counts = np.zeros(2, dtype=np.uint64)
    for stage in range(2):
        for step in checkpoint.epochs(steps, position, rng, seen, counts):
            position += torch.randn(3, generator=rng)
            counts[stage] += 1
            seen.append((position.clone(), stage * steps + step))
            progress.report(step + 1, steps, 0.0)
    assert [number for _, number in seen] == list(range(2 * steps))
    assert counts.tolist() == [steps, steps]
    return [float(at.sum()) for at, _ in seen]


def test_nothing_is_written_without_a_place_or_within_the_first_minute(tmp_path):
    walk()
    kept(tmp_path / "fit", walk, every=60.0)()
    assert not files(tmp_path)


def test_writing_takes_no_more_than_a_hundredth_of_the_time(tmp_path):
    place = checkpoint.CheckpointFolder(tmp_path, every=60.0)
    assert not place.is_due(59.0, finished=False)
    assert place.is_due(61.0, finished=False)
    place._writing = 2.0
    assert not place.is_due(199.0, finished=False)
    assert place.is_due(201.0, finished=False)


def test_finished_stages_of_an_old_fit_are_kept_though_each_is_short(tmp_path):
    place = checkpoint.CheckpointFolder(tmp_path, every=60.0)
    assert not place.is_due(1.0, finished=True)
    place._start = time.monotonic() - 61
    assert place.is_due(1.0, finished=True)
    assert not place.is_due(1.0, finished=False)


def test_a_folder_has_a_ledger_and_the_newest_state_of_each_stage_alone(tmp_path):
    fit = kept(tmp_path / "fit", walk)
    killed_in(6, fit)
    (tmp_path / "fit" / ".1.abcd_123").write_bytes(b"begun by a killed process")
    assert fit() == walk()
    names = [path.name for path in files(tmp_path / "fit")]
    assert [name.partition("-")[0] for name in names] == ["1", "2", LEDGER]


def test_a_checkpoint_of_another_fit_is_not_used(tmp_path):
    killed_in(6, kept(tmp_path / "fit", walk, of="that"))
    with checkpoint.checkpointing(tmp_path / "fit", {"fit": "this"}, 0.0) as place:
        assert counted(walk) == (walk(), 8)
    assert "differs in fit" in place.notes[0]
    assert place.resumed == 0


def test_a_stage_that_began_elsewhere_is_not_used(tmp_path):
    killed_in(6, kept(tmp_path / "fit", partial(walk, seed=1)))
    with checkpoint.checkpointing(tmp_path / "fit", {"fit": "this"}, 0.0) as place:
        assert counted(walk) == (walk(), 8)
    assert "began from another state" in place.notes[0]


def test_changed_code_makes_a_checkpoint_stale(tmp_path, monkeypatch):
    killed_in(6, kept(tmp_path / "fit", walk))
    ledger = Ledger.read(tmp_path / "fit")
    assert ledger
    assert {"checkpoints/checkpoint.py", "fitting/training.py"} <= ledger.code.keys()
    digests = checkpoint_code.digests()
    edited = {
        p: "other" if _relative(p) == "fitting/training.py" else d for p, d in digests.items()
    }
    monkeypatch.setattr(checkpoint_code, "digests", lambda: edited)
    with checkpoint.checkpointing(tmp_path / "fit", {"fit": "this"}, 0.0) as place:
        assert counted(walk) == (walk(), 8)
    assert "differs in fitting/training.py" in place.notes[0]


def test_sources_that_are_not_imported_may_change(monkeypatch):
    used = checkpoint_code.in_use()
    digests = checkpoint_code.digests()
    new = {path: "other" for path in digests if _relative(path) not in used}
    new[Path(checkpoint_code.__file__).parent / "not_imported.py"] = "new"
    monkeypatch.setattr(checkpoint_code, "digests", lambda: digests | new)
    assert not checkpoint_code.changed(used)


def _relative(path: Path) -> str:
    return path.relative_to(Path(checkpoint_code.__file__).parent.parent).as_posix()


@pytest.fixture(scope="module")
def half_done(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("half") / "fit"
    killed_in(6, kept(folder, walk))
    return folder


@pytest.fixture(scope="module")
def whole_walk() -> list[float]:
    return walk()


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damage_anywhere_costs_time_and_nothing_else(data, half_done, whole_walk, tmp_path):
    folder = tmp_path / "fit"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(half_done, folder)
    path = data.draw(st.sampled_from(files(folder)))
    content = bytearray(path.read_bytes())
    match data.draw(st.sampled_from(["flip", "cut", "remove", "replace"])):
        case "flip":
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        case "cut":
            del content[data.draw(st.integers(0, len(content) - 1)) :]
        case "replace":
            content[:] = data.draw(st.binary(max_size=200))
        case "remove":
            path.unlink()
    if path.exists():
        path.write_bytes(content)
    with checkpoint.checkpointing(folder, {"fit": "this"}) as place:
        found, epochs = counted(walk)
    assert found == whole_walk
    assert place.notes or path.name == LEDGER
    assert epochs > 3 or not place.notes


class Touching:
    """An object that runs code when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_file_that_would_run_code_is_refused(half_done, tmp_path):
    folder = tmp_path / "fit"
    shutil.copytree(half_done, folder)
    ledger = Ledger.read(folder)
    assert ledger
    name, sha256 = write_state(folder, "2", [Touching(tmp_path / "touched")])
    before = ledger.stages["2"]
    ledger.stages["2"] = Stage(name, sha256, before.origin, before.done)
    ledger.write(folder)
    with checkpoint.checkpointing(folder, {"fit": "this"}, 0.0) as place:
        assert walk() == kept(tmp_path / "other", walk)()
    assert place.notes
    assert not (tmp_path / "touched").exists()


def test_a_ledger_cannot_name_files_elsewhere(half_done, tmp_path):
    folder = tmp_path / "fit"
    shutil.copytree(half_done, folder)
    ledger = Ledger.read(folder)
    assert ledger
    one = ledger.stages["2"]
    (folder / one.file).rename(tmp_path / one.file)
    ledger.stages["2"] = Stage(f"../{one.file}", one.sha256, one.origin, one.done)
    ledger.write(folder)
    with checkpoint.checkpointing(folder, {"fit": "this"}, 0.0) as place:
        assert counted(walk) == (walk(), 4)
    assert "outside" in place.notes[0]


def test_where_nothing_can_be_written_the_fit_goes_on_without(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with checkpoint.checkpointing(tmp_path / "file" / "fit", {"fit": "this"}, 0.0) as place:
        assert walk() == walk()
    assert place.notes


class _Full(io.BytesIO):
    """A fake file on a disk with a limited number of free bytes."""

    room = 0
    mode = "wb"
    name = "full"

    def write(self, content: Any) -> int:
        if self.tell() + len(content) > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(content)


@pytest.mark.parametrize("room", [0, 700, 3000])
def test_a_full_disk_costs_checkpoints_and_nothing_else(room, monkeypatch, tmp_path, whole_walk):
    hashing = checkpoint_files._Hashing
    monkeypatch.setattr(_Full, "room", room)
    monkeypatch.setattr(checkpoint_files, "_Hashing", lambda file: hashing(_Full()))
    with checkpoint.checkpointing(tmp_path / "fit", {"fit": "this"}, 0.0) as place:
        assert walk() == whole_walk
    assert "No space left" in place.notes[0]
    assert not files(tmp_path / "fit")


def test_seconds_and_memory_of_earlier_attempts_are_known(tmp_path):
    def slow_walk():
        with progress.listening(lambda *_: time.sleep(0.03)):
            return walk()

    with checkpoint.checkpointing(tmp_path / "fit", {"fit": "this"}, 0.0, lambda: 7.0) as place:
        slow_walk()
    assert (place.earlier_seconds, place.earlier_peak_bytes, place.resumed) == (0, 0, 0)
    with checkpoint.checkpointing(tmp_path / "fit", {"fit": "this"}, 0.0) as place:
        walk()
    assert place.earlier_seconds >= 8 * 0.03
    assert place.earlier_peak_bytes == 7.0
    text = json.loads((tmp_path / "fit" / LEDGER).read_text())
    assert text["resumed"] == 1


def test_a_loop_whose_state_is_not_known_has_no_checkpoints(tmp_path):
    def fit():
        stack = Stack([classification()], [stream(0)], 8)
        stack.run(3, lambda inputs, targets: stack.loss(stack.weights, inputs, targets))

    kept(tmp_path / "fit", fit)()
    assert not files(tmp_path / "fit")


def test_an_outer_place_is_there_again_behind_an_inner_one(tmp_path):
    with checkpoint.checkpointing(tmp_path / "outer", {}, 0.0):
        with checkpoint.checkpointing(tmp_path / "inner", {}, 0.0):
            pass
        walk()
    assert files(tmp_path / "outer")
    assert not files(tmp_path / "inner")

"""Folders that appear whole or not at all."""

import io
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bnnbench.engine.run import packing
from bnnbench.engine.run.packing import NotImported, pack, stored_form, unpack, vars_of
from bnnbench.engine.store import durable
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.methods.predictions import PREDICTIVES
from bnnbench.methods.predictions.predictive import (
    CategoricalPredictive,
    CategoricalSummary,
    GaussianPredictive,
)
from tests.engine.records.test_record import RECORD
from tests.records import changed


def predictions(points: int, seed: int = 0):
    rng = torch.Generator().manual_seed(seed)
    logits = torch.randn(4, points, 3, generator=rng)
    categorical = CategoricalPredictive(logits.log_softmax(-1))
    gaussian = GaussianPredictive(
        torch.randn(2, points, 1, generator=rng, dtype=torch.float64),
        torch.rand(2, points, 1, generator=rng, dtype=torch.float64),
    )
    labels = torch.randint(3, (points,), generator=rng)
    return {
        "clean": (categorical, labels),
        "ood_svhn": (categorical.summary(), labels),
        "rotated_60": (gaussian, torch.randn(points, 1, generator=rng)),
    }


@given(st.integers(1, 7), st.integers(0, 99))
def test_predictions_are_read_as_they_were_written(points, seed):
    before = predictions(points, seed)
    after = unpack(pack(before))
    assert list(after) == list(before)
    for condition, (prediction, targets) in before.items():
        found, found_targets = after[condition]
        assert type(found) is type(prediction)
        assert torch.equal(found_targets, targets)
        for name, tensor in vars_of(prediction).items():
            assert torch.equal(getattr(found, name), tensor)
            assert getattr(found, name).dtype == tensor.dtype


def test_equal_predictions_are_equal_bytes():
    assert pack(predictions(5)) == pack(predictions(5))


def test_draws_that_are_too_large_are_kept_as_their_mixture(monkeypatch):
    (prediction, _) = predictions(5)["clean"]
    monkeypatch.setattr(packing, "KEPT_DRAWS_BYTES", prediction.log_probs.nbytes - 1)
    summary = stored_form(prediction)
    assert isinstance(summary, CategoricalSummary)
    assert torch.equal(summary.mixture_log_probs, prediction.mixture_log_probs)
    assert torch.equal(summary.expected_entropy, prediction.expected_entropy)


def test_many_conditions_share_the_bytes_of_a_run_alike(monkeypatch):
    (prediction, _) = predictions(5)["clean"]
    monkeypatch.setattr(packing, "KEPT_RUN_BYTES", 4 * prediction.log_probs.nbytes)
    assert stored_form(prediction, conditions=4) is prediction
    assert isinstance(stored_form(prediction, conditions=5), CategoricalSummary)


@dataclass(frozen=True)
class Notes:
    """A third-party predictive: two arrays under other names, one of them NumPy's."""

    text: str

    def __len__(self):
        return len(self.text)

    def pack(self):
        codes = torch.tensor([ord(letter) for letter in self.text])
        return {"codes/of letters": codes, "targets": np.arange(3.0)}

    @classmethod
    def unpack(cls, arrays):
        assert arrays["targets"].tolist() == [0.0, 1.0, 2.0]
        return cls("".join(chr(code) for code in arrays["codes/of letters"].tolist()))


def test_a_third_party_class_packs_itself_and_is_kept_under_its_own_name():
    packed = pack({"clean": (Notes("abc"), torch.zeros(3, 1))})
    assert unpack(packed)["clean"][0] == Notes("abc")
    with np.load(io.BytesIO(packed)) as arrays:
        assert f"clean/{Notes.__module__}:Notes/targets" in arrays.files


def foreign(tmp_path) -> bytes:
    """Return predictions of a class in a file that was imported, and is no longer."""
    (tmp_path / "of_a_stranger.py").write_text(
        "import pathlib\n"
        "from tests.engine.store.test_store import Notes\n"
        "pathlib.Path(__file__).with_name('imported').touch()\n"
        "class Mine(Notes): pass\n"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        from of_a_stranger import Mine  # pyright: ignore[reportMissingImports]

        return pack({"clean": (Mine("abc"), torch.zeros(3, 1))})
    finally:
        del sys.modules["of_a_stranger"]


def test_reading_a_store_imports_nothing_third_party(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    store = Store(tmp_path / "store")
    store.write(RECORD, foreign(tmp_path))
    (tmp_path / "imported").unlink()
    with pytest.raises(NotImported, match=r"class of_a_stranger:Mine.*`import of_a_stranger`"):
        store.predictions(RECORD.key)
    assert not (tmp_path / "imported").exists()
    assert "of_a_stranger" not in sys.modules
    import of_a_stranger  # pyright: ignore[reportMissingImports]

    assert store.predictions(RECORD.key)["clean"][0] == of_a_stranger.Mine("abc")
    del sys.modules["of_a_stranger"]


def test_an_unknown_kind_of_prediction_is_refused():
    with pytest.raises(TypeError, match=r"float has no __len__ and no pack and no unpack"):
        packing.vars_of(0.5)
    with pytest.raises(ValueError, match="unknown kind, 'gauss'"):
        packing.kind_of("gauss")


def test_a_class_that_no_other_process_could_import_is_refused():
    class Local(Notes): ...

    with pytest.raises(TypeError, match=r"at the top of a module; got .*<locals>.Local"):
        vars_of(Local("abc"))


def test_arrays_that_are_no_numbers_are_refused(monkeypatch):
    monkeypatch.setattr(Notes, "pack", lambda self: {"text": np.array(["abc"])})
    with pytest.raises(TypeError, match=r"real numbers for 'text' of .*:Notes; got ndarray of"):
        pack({"clean": (Notes("abc"), torch.zeros(3, 1))})
    monkeypatch.setattr(Notes, "pack", lambda self: {})
    with pytest.raises(TypeError, match="at least one array"):
        vars_of(Notes("abc"))


def test_every_predictive_of_the_project_is_registered():
    for name, path in PREDICTIVES.items():
        assert packing.kind_of(name).__name__ == path.rpartition(":")[2]


def test_a_run_is_found_by_its_key(tmp_path):
    store = Store(tmp_path)
    assert store.read(RECORD.key) is None
    assert list(store.run_keys()) == []
    kept = store.write(RECORD, pack(predictions(3)))
    assert (
        changed(kept, provenance=RECORD.circumstances.provenance, predictions_sha256=None) == RECORD
    )
    for reader in (store, Store(tmp_path)):
        assert reader.read(RECORD.key) == kept
        assert list(reader.records()) == [kept]
    assert set(store.predictions(RECORD.key)) == {"clean", "ood_svhn", "rotated_60"}


def test_a_later_attempt_replaces_an_earlier_one(tmp_path):
    store = Store(tmp_path)
    store.write(RECORD, pack(predictions(3)))
    failed = changed(RECORD, status="failed", error="no", scores={})
    kept = store.write(failed, None)
    assert list(store.records()) == [kept]
    assert [p.name for p in store.runs.iterdir()] == [RECORD.key]
    assert [p.name for p in (store.runs / RECORD.key).iterdir()] == ["record.json"]


def test_a_new_record_leaves_predictions_alone(tmp_path):
    store = Store(tmp_path)
    kept = store.write(RECORD, pack(predictions(3)))
    before = (store.runs / RECORD.key / "predictions.npz").stat()
    store.rewrite(replace(kept, method="Average"))
    assert store.read(RECORD.key).method == "Average"
    assert (store.runs / RECORD.key / "predictions.npz").stat() == before


def test_stray_files_are_not_runs(tmp_path):
    store = Store(tmp_path)
    kept = store.write(RECORD, None)
    (store.runs / "notes.txt").write_text("mine")
    (store.runs / ".DS_Store").write_text("")
    (store.runs / "empty").mkdir()
    assert list(store.records()) == [kept]


def test_a_truncated_record_is_named_with_its_cure(tmp_path):
    store = Store(tmp_path)
    store.write(RECORD, None)
    path = store.runs / RECORD.key / "record.json"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CorruptRecord, match=rf"{path}.*remove {path.parent} to run it again"):
        store.read(RECORD.key)


@pytest.mark.parametrize("harm", ["missing", "truncated", "other"])
def test_damaged_predictions_are_named_with_their_cure(tmp_path, harm):
    store = Store(tmp_path)
    store.write(RECORD, pack(predictions(3)))
    path = store.runs / RECORD.key / "predictions.npz"
    if harm == "missing":
        path.unlink()
    else:
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if harm == "truncated" else b"other")
    with pytest.raises(CorruptRecord, match=rf"{path}.*remove"):
        store.predictions(RECORD.key)


def test_predictions_that_would_run_code_are_not_read(tmp_path):
    store = Store(tmp_path)
    store.write(RECORD, b"\x80\x04cposix\nsystem\n(S'touch pwned'\ntR.")
    with pytest.raises(CorruptRecord):
        store.predictions(RECORD.key)


@pytest.mark.parametrize("step", ["fsync", "rename"])
def test_a_write_that_fails_leaves_nothing_in_sight(tmp_path, monkeypatch, step):
    store = Store(tmp_path)
    store.runs.mkdir(parents=True)

    def no_space(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(durable.os, step, no_space)
    with pytest.raises(OSError, match="No space"):
        store.write(RECORD, pack(predictions(3)))
    monkeypatch.undo()
    assert list(store.runs.iterdir()) == []


WRITER = """
import sys
from pathlib import Path
from dataclasses import replace
from bnnbench.engine.run.packing import pack
from bnnbench.engine.store.store import Store
from tests.engine.records.test_record import RECORD, numbered
from tests.engine.store.test_store import predictions
store, content = Store(Path(sys.argv[1])), pack(predictions(20_000))
for number in range(10**6):
    store.write(numbered(number % 50), content)
    if number == 0:
        print("started", flush=True)
"""


@pytest.mark.long
def test_a_reader_beside_a_writer_that_is_killed_sees_whole_runs_only(tmp_path, project):
    store = Store(tmp_path)
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, cwd=project
    )
    assert writer.stdout.readline() == b"started\n"
    seen = 0
    for _ in range(40):
        for key in list(store.run_keys()):
            try:
                text = (store.runs / key / "record.json").read_text()
            except FileNotFoundError:
                continue  # between the old and the new run of the same key
            assert json.loads(text)["key"] == key
            seen += 1
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    assert seen > 0
    whole = {len(pack(predictions(20_000)))}
    for key in list(store.run_keys()):
        assert store.read(key).key == key
        assert {(store.runs / key / "predictions.npz").stat().st_size} == whole

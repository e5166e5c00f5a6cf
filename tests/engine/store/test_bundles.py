"""Bundles: records without predictions, in one file."""

import io
import lzma
import tarfile

import numpy as np
import pytest

from bnnbench.commands.bundle import Refused, check, main
from bnnbench.commands.store import command as verify
from bnnbench.engine.records.record_json import SCHEMA
from bnnbench.engine.store import bundles
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.reports.read.bundles import read_bundle
from bnnbench.reports.read.frames import results
from bnnbench.reports.read.predictions.bundled import spans_in
from tests.records import changed
from tests.reports.synthetic import classified, keep, record, scored

RUNS = [record(m, seed=s, code_sha256=m) for m in ("AdamW", "IVON") for s in range(3)]


def test_equal_records_give_equal_bytes_in_any_order(tmp_path):
    first = bundles.write(tmp_path / "a", RUNS).read_bytes()
    assert bundles.write(tmp_path / "b", RUNS[::-1]).read_bytes() == first
    assert sorted(bundles.read(tmp_path / "a"), key=lambda r: r.key) == sorted(
        RUNS, key=lambda r: r.key
    )


def test_unpacked_it_is_a_store(tmp_path):
    with tarfile.open(bundles.write(tmp_path, RUNS)) as archive:
        archive.extractall(tmp_path / "store", filter="data")
    assert {r.key for r in Store(tmp_path / "store").records()} == {r.key for r in RUNS}


def test_runs_are_read_by_the_start_of_their_keys(tmp_path):
    bundles.write(tmp_path, RUNS)
    for run in RUNS:
        assert bundles.read(tmp_path, run.key[:8]) == (run,)
    assert bundles.read(tmp_path, "no key") == ()


def test_scores_are_one_line_away(tmp_path):
    bundles.write(tmp_path / "cifar10", RUNS)
    table = results(tmp_path)
    assert sorted(table["key"]) == sorted(r.key for r in RUNS)
    assert set(read_bundle(tmp_path)) == {"cifar10"}


@pytest.mark.parametrize("at", [40, 200, -30])
def test_an_altered_byte_is_found(tmp_path, at):
    path = bundles.write(tmp_path, RUNS)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)
    with pytest.raises(
        CorruptRecord, match=r"runs\.tar\.xz.*; get the file from the repository again$"
    ):
        bundles.read(tmp_path)


def test_a_changed_score_inside_is_found(tmp_path):
    with tarfile.open(bundles.write(tmp_path, RUNS)) as archive:
        archive.extractall(tmp_path, filter="data")
    path = tmp_path / "runs" / RUNS[0].key / "record.json"
    path.write_text(path.read_text().replace('"nll": 1.0', '"nll": 0.9'))
    with tarfile.open(tmp_path / bundles.NAME, "w:xz") as archive:
        archive.add(tmp_path / "runs", "runs")
    with pytest.raises(CorruptRecord, match=f"{RUNS[0].key}.*altered.*; get the file [^;]*again$"):
        bundles.read(tmp_path)


def test_a_record_of_a_later_version_is_not_called_damaged(tmp_path):
    with tarfile.open(bundles.write(tmp_path, RUNS)) as archive:
        archive.extractall(tmp_path, filter="data")
    path = tmp_path / "runs" / RUNS[0].key / "record.json"
    path.write_text(path.read_text().replace(f'"schema": {SCHEMA}', '"schema": 999'))
    with tarfile.open(tmp_path / bundles.NAME, "w:xz") as archive:
        archive.add(tmp_path / "runs", "runs")
    with pytest.raises(
        CorruptRecord, match=r"schema 999 belongs to a later version.*; update this pro"
    ):
        bundles.read(tmp_path)


def test_the_suite_of_a_folder_is_told_without_reading_it_all(tmp_path):
    path = bundles.write(tmp_path, RUNS)
    assert bundles.suite_of(tmp_path) == "cifar10"
    path.write_bytes(path.read_bytes()[:20])
    with pytest.raises(CorruptRecord, match=r"runs\.tar\.xz: .*; get the file from the repository"):
        bundles.suite_of(tmp_path)
    with tarfile.open(path, "w:xz"):
        pass
    with pytest.raises(CorruptRecord, match="it has no record; get the file from the repository"):
        bundles.suite_of(tmp_path)


def test_an_empty_folder_is_named(tmp_path):
    with pytest.raises(ValueError, match="bnnbench bundle"):
        read_bundle(tmp_path)


def dirty(value):
    return {**RUNS[0].circumstances.provenance, "dirty": value}


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        ([], "no run is left"),
        ([*RUNS, record(suite="uci")], "several suites"),
        ([*RUNS, record(seed=7, provenance=dirty(True), code_sha256="AdamW")], "uncommitted"),
        ([*RUNS, record(seed=7, provenance=dirty(None), code_sha256="AdamW")], "uncommitted"),
        ([*RUNS, record(seed=7, code_sha256="edited")], "2 versions of its code"),
        (RUNS, "cannot be re-run: .*--earlier-code accepts them"),
    ],
)
def test_runs_that_prove_nothing_are_refused(runs, why):
    with pytest.raises(Refused, match=why):
        check(runs)


def test_the_command_writes_what_was_asked_for(tmp_path, capsys):
    others = [record("AdamW", "mnist", seed=s, code_sha256="AdamW") for s in range(2)]
    keep(tmp_path / "results" / "cifar10", [*RUNS, *others])
    arguments = [str(tmp_path / "results"), "--out", str(tmp_path / "bundle")]
    assert main(arguments) == 3
    assert "--earlier-code accepts them" in capsys.readouterr().err
    assert not (tmp_path / "bundle").exists()
    assert main([*arguments, "--earlier-code", "--datasets", "mnist"]) == 0
    assert {r.dataset for r in bundles.read(tmp_path / "bundle")} == {"mnist"}


def test_with_its_predictions_a_bundle_is_a_store_that_can_be_scored_again(tmp_path, capsys):
    rng = np.random.default_rng(0)
    predictions = {r.key: {"clean": classified(rng, 1.0, points=50)} for r in RUNS[:4]}
    true = [
        changed(r, scores=scored(predictions[r.key], {"clean": ["nll", "accuracy"]}))
        for r in RUNS[:4]
    ]
    keep(tmp_path / "results" / "cifar10", true, predictions)
    out = tmp_path / "bundle"
    asked = [str(tmp_path / "results"), "--out", str(out), "--earlier-code"]
    assert main([*asked, "--predictions"]) == 0
    assert "predictions.tar: predictions of 4 runs, 0." in capsys.readouterr().out
    first = (out / "predictions.tar").read_bytes()
    assert main([*asked, "--predictions"]) == 0
    assert (out / "predictions.tar").read_bytes() == first
    for name in ("runs.tar.xz", "predictions.tar"):
        with tarfile.open(out / name) as archive:
            archive.extractall(tmp_path / "again" / "cifar10", filter="data")
    assert verify(["verify", "--rescore", str(tmp_path / "again")]) == 0
    assert "4 valid runs" in capsys.readouterr().out
    again = Store(tmp_path / "again" / "cifar10")
    forged = changed(true[0], scores={"clean": {"nll": 0.01, "accuracy": 1.0}})
    again.rewrite(changed(again.read(forged.key), scores=forged.outcome.scores))
    assert verify(["verify", "--rescore", str(tmp_path / "again")]) == 3


def test_predictions_that_are_not_at_hand_are_counted(tmp_path, capsys):
    rng = np.random.default_rng(0)
    predictions = {RUNS[0].key: {"clean": classified(rng, 1.0, points=50)}}
    store = keep(tmp_path / "results" / "cifar10", RUNS[:1], predictions)
    (store.runs / RUNS[0].key / "predictions.npz").unlink()
    asked = [str(tmp_path / "results"), "--out", str(tmp_path / "bundle"), "--earlier-code"]
    assert main([*asked, "--predictions"]) == 0
    assert "predictions of 1 run are missing" in capsys.readouterr().out


def members(content: bytes) -> list[tarfile.TarInfo]:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        return archive.getmembers()


@pytest.mark.parametrize("number", range(len(RUNS)))
@pytest.mark.parametrize("place", [0, 130, 150, 156, 257])
def test_an_altered_header_loses_no_record_in_silence(tmp_path, number, place):
    path = bundles.write(tmp_path, RUNS)
    content = bytearray(lzma.decompress(path.read_bytes()))
    content[members(content)[number].offset + place] ^= 1
    path.write_bytes(lzma.compress(bytes(content)))
    with pytest.raises(CorruptRecord, match=r"alter|header|invalid|read"):
        bundles.read(tmp_path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.FIFOTYPE, tarfile.LNKTYPE])
def test_only_files_are_in_a_bundle(tmp_path, kind):
    path = bundles.write(tmp_path, RUNS)
    content = bytearray(lzma.decompress(path.read_bytes()))
    entry = members(content)[-1]
    entry.type, entry.size, start = kind, 0, entry.offset
    content[start : start + 512] = entry.tobuf(tarfile.USTAR_FORMAT)
    content[start + 512 :] = bytes(len(content) - start - 512)
    path.write_bytes(lzma.compress(bytes(content)))
    with pytest.raises(CorruptRecord, match="only plain files"):
        bundles.read(tmp_path)


def test_an_altered_header_of_predictions_is_refused(tmp_path):
    path = bundles.write_predictions(tmp_path, {r.key: lambda: b"0" * 600 for r in RUNS})
    assert len(spans_in([path])) == len(RUNS)
    content = bytearray(path.read_bytes())
    content[members(content)[3].offset + 130] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="not an archive of predictions"):
        spans_in([path])

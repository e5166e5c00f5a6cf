"""Submitted runs: what is packed, what is admitted, and what is refused."""

import io
import lzma
import os
import re
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from bnnbench.commands import admit, submit, suite
from bnnbench.engine.run.packing import pack
from bnnbench.engine.store import bundles, submissions
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.methods import own_files
from bnnbench.reports.read.bundles import read_bundle
from bnnbench.suites.two_moons import SUITES
from tests.records import changed

FLAGS = ["--executor", "serial", "--no-report"]
ROOT = Path(__file__).parents[3]


def recipe() -> str:
    """Return the first method of the page on adding one."""
    page = (ROOT / "docs" / "adding_a_method.md").read_text()
    code, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    return code


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with a method's file, its runs of the whole profile, and a bundle of another."""
    folder = tmp_path_factory.mktemp("submission")
    others = folder / "others"
    assert suite.command(SUITES, [*FLAGS, "--methods", "MAP", "--out", str(others)]) == 0
    file = folder / "admitted_neighbours.py"
    file.write_text(recipe())
    method = f"{file}:NearestNeighbours"
    assert suite.command(SUITES, [*FLAGS, "--methods", method, "--out", str(folder)]) == 0
    bundles.write(folder / "bundle" / "two_moons", Store(others / "two_moons").current())
    yield folder
    forget()


def forget() -> None:
    """Make this process one that has not seen the method's file."""
    for folder in os.environ.pop(own_files.VARIABLE, "").split(os.pathsep):
        sys.path_importer_cache.pop(folder, None)
        if folder in sys.path:
            sys.path.remove(folder)
    sys.modules.pop("admitted_neighbours", None)


@pytest.fixture
def file(work, tmp_path):
    return submitted(work, work / "two_moons", tmp_path)


def submitted(work: Path, results: Path, out: Path) -> Path:
    forget()
    path = out / f"mine{submissions.SUFFIX}"
    method = f"{work / 'admitted_neighbours.py'}:NearestNeighbours"
    assert submit.main([method, str(results), "--out", str(path)]) == 0
    return path


def admitted(file: Path, bundle: Path, *flags: str) -> int:
    forget()
    return admit.main([str(file), "--bundle", str(bundle), *flags])


@pytest.mark.long
def test_submitted_runs_are_checked_repeated_and_added_with_their_code(
    work, file, tmp_path, capsys
):
    bundle = tmp_path / "bundle"
    bundles.write(bundle / "two_moons", bundles.read(work / "bundle" / "two_moons"))
    assert admitted(file, bundle, "--share", "0.4") == 0, capsys.readouterr()
    told = capsys.readouterr().out
    runs = Store(work / "two_moons").current()
    assert told.count("identical") == -(-len(runs) * 4 // 10)
    records = read_bundle(bundle)["two_moons"].records
    assert {r.method for r in records} == {"MAP", runs[0].method}
    assert [r for r in records if r.method != "MAP"] == runs
    (code,) = (bundle / "mine" / "code").iterdir()
    assert (code.name, code.read_text()) == ("admitted_neighbours.py", recipe())
    assert admitted(file, bundle) == 2
    again = capsys.readouterr()
    assert "exists; remove it" in again.err
    assert again.out == ""  # refused before any fit was repeated


@pytest.mark.long
def test_equal_runs_give_equal_files_and_checking_alone_adds_nothing(work, file, tmp_path):
    again = tmp_path / "again"
    again.mkdir()
    assert submitted(work, work / "two_moons", again).read_bytes() == file.read_bytes()
    assert admitted(file, tmp_path / "nothing", "--check") == 0
    assert not (tmp_path / "nothing").exists()


def altered(work: Path, folder: Path, change) -> Path:
    """Return the file of a submission whose first run, and its predictions, were altered."""
    store, altered = Store(work / "two_moons"), Store(folder / "altered")
    first, *rest = store.current()
    for record in rest:
        altered.write(record, store.packed(record.key))
    change(altered, first, store)
    path = folder / f"mine{submissions.SUFFIX}"
    source = work / "admitted_neighbours.py"
    code = {source.name: source.read_bytes()}
    submissions.write(path, altered, list(altered.run_keys()), code)
    return path


def better_score(altered, first, store):
    scores = {c: dict.fromkeys(of, 0.999) for c, of in first.outcome.scores.items()}
    altered.write(changed(first, scores=scores), store.packed(first.key))


def fewer_scores(altered, first, store):
    clean = dict(first.outcome.scores["clean"])
    clean.popitem()
    scores = {**first.outcome.scores, "clean": clean}
    altered.write(changed(first, scores=scores), store.packed(first.key))


def no_condition(altered, first, store):
    altered.write(changed(first, scores={}), store.packed(first.key))


def false_reason(altered, first, store):
    clean = dict(first.outcome.scores["clean"])
    name, _ = clean.popitem()
    reasons = {**first.outcome.unanswered.get("clean", {}), name: "it has none"}
    outcome = {
        "scores": {**first.outcome.scores, "clean": clean},
        "unanswered": {**first.outcome.unanswered, "clean": reasons},
    }
    altered.write(changed(first, **outcome), store.packed(first.key))


def negative_cost(altered, first, store):
    cost = replace(first.cost, fit_joules=-1.0)
    altered.write(changed(first, cost=cost), store.packed(first.key))


def better_predictions(altered, first, store):
    """Write predictions that are surer of every label than the method's, with their true scores."""
    from bnnbench.engine.run.score import score

    predictions, scores = {}, {}
    for name, (prediction, targets) in store.predictions(first.key).items():
        log_probs = prediction.log_probs.clone()
        log_probs[:, range(len(targets)), targets.long()] += 1.0
        forged = type(prediction)(log_probs.log_softmax(-1))
        predictions[name] = forged, targets
        asked = list(first.outcome.scores[name])
        scores[name] = dict(score(forged, targets, asked, first.circumstances.target).values)
    altered.write(changed(first, scores=scores), pack(predictions))


def no_run(altered, first, store):
    pass


def other_code(altered, first, store):
    record = changed(first, code_sha256="0" * 64)
    altered.write(record, store.packed(first.key))


def other_data(altered, first, store):
    record = changed(first, data_sha256="0" * 64)
    altered.write(record, store.packed(first.key))


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (better_score, "false"),
        (better_predictions, "differ"),
        (fewer_scores, "and no reason"),
        (no_condition, "and no reason"),
        (false_reason, "is left out"),
        (negative_cost, "a cost below 0"),
        (no_run, "1 of"),
        (other_code, "other code"),
        (other_data, "other data"),
    ],
)
def test_altered_runs_are_refused(work, tmp_path, capsys, change, reason):
    path = altered(work, tmp_path, change)
    assert admitted(path, work / "bundle", "--share", "1") == admit.REFUSED
    assert reason in capsys.readouterr().err
    assert not (work / "bundle" / "mine").exists()


@pytest.mark.parametrize(
    "name", ["../outside.py", "runs/x/record.json", "code/../../x.py", "/etc/x", "code/run.sh"]
)
def test_a_file_with_anything_else_is_refused(tmp_path, name):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    path = tmp_path / "odd"
    path.write_bytes(lzma.compress(packed.getvalue()))
    with pytest.raises(
        CorruptRecord, match=r"neither a run's nor a method's file; ask its sender [^;]*again$"
    ):
        submissions.unpack(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_links_and_cut_files_are_refused(file, tmp_path, capsys):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        link = tarfile.TarInfo("code/link.py")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    path = tmp_path / "odd"
    path.write_bytes(lzma.compress(packed.getvalue()))
    with pytest.raises(CorruptRecord):
        submissions.unpack(path, tmp_path / "out")
    file.write_bytes(file.read_bytes()[:-50])
    assert admitted(file, tmp_path) == 2
    assert "error: " in capsys.readouterr().err


@pytest.mark.long
def test_usage_errors_of_submit_are_reported(work, tmp_path, capsys):
    assert submit.main(["adamw", str(work / "two_moons")]) == 2
    assert "no runs of adamw" in capsys.readouterr().err
    assert submit.main(["adamw", str(tmp_path)]) == 2
    assert "has no results" in capsys.readouterr().err


@pytest.mark.long
def test_a_part_of_a_profile_is_told_and_not_admitted(work, tmp_path, capsys):
    forget()
    file = work / "admitted_neighbours.py"
    method = f"{file}:NearestNeighbours"
    flags = [*FLAGS, "--seeds", "1", "--methods", method, "--out", str(tmp_path)]
    assert suite.command(SUITES, flags) == 0
    capsys.readouterr()
    path = submitted(work, tmp_path / "two_moons", tmp_path)
    assert "are missing; a bundle takes only whole profiles" in capsys.readouterr().out
    assert admitted(path, work / "bundle") == admit.REFUSED
    assert "runs are missing" in capsys.readouterr().err

"""Submissions whose code or records attack the process that judges them."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bnnbench.commands import admit, store, submit, suite
from bnnbench.engine.run.packing import pack, stored_arrays
from bnnbench.engine.run.sandbox.sandbox import lacking
from bnnbench.engine.run.score import score
from bnnbench.engine.store import bundles, submissions
from bnnbench.engine.store.store import Store
from bnnbench.methods import own_files
from bnnbench.methods.predictions.predictive import CategoricalPredictive
from bnnbench.suites.two_moons import SUITES
from tests.records import changed

pytestmark = pytest.mark.long

MODULE = "a_guest_of_the_bundle"

CODE = '''
import os
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from bnnbench.methods.predictions.predictive import CategoricalPredictive

HERE = Path({here!r})
try:
    with (HERE / "imports").open("a") as file:
        print(os.getpid(), file=file)
except PermissionError:
    pass  # confined
if (HERE / "exit").exists():
    sys.exit(0)
if (HERE / "patch").exists():
    for name, module in list(sys.modules.items()):
        if name.startswith("bnnbench."):
            for function in ("compare", "differing", "check_scores", "false_scores"):
                if hasattr(module, function):
                    setattr(module, function, lambda *a, **k: [])


@dataclass(frozen=True)
class Told(CategoricalPredictive):
    """Class probabilities of a class of the sender's."""


@dataclass(frozen=True)
class Posterior:
    share: float
    diagnostics = {{"converged": 0.0}}

    def predict(self, inputs, rng):
        probabilities = torch.tensor([1 - self.share, self.share])
        return Told(probabilities.log().expand(1, len(inputs), 2).contiguous())


@dataclass(frozen=True)
class Share:
    def fit(self, problem, rng):
        return Posterior(float(problem.train.targets.float().mean()))
'''


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    """A folder with a method whose predictions are of its own class, and its finished runs."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / f"{MODULE}.py").write_text(CODE.format(here=str(folder)))
    method = f"{folder / MODULE}.py:Share"
    flags = ["--executor", "serial", "--no-report", "--methods", method, "--out", str(folder)]
    assert suite.command(SUITES, flags) == 0
    yield folder
    forget()


@pytest.fixture(autouse=True)
def forgotten(work):
    forget()
    (work / "imports").unlink(missing_ok=True)
    yield
    for name in ("exit", "patch"):
        (work / name).unlink(missing_ok=True)


def forget() -> None:
    """Make this process one that has not seen the method's file."""
    for folder in os.environ.pop(own_files.VARIABLE, "").split(os.pathsep):
        sys.path_importer_cache.pop(folder, None)
        if folder in sys.path:
            sys.path.remove(folder)
    sys.modules.pop(MODULE, None)


def sent(work: Path, folder: Path, change=lambda record, packed: (record, packed)) -> Path:
    """Return the file of a submission whose first run was changed."""
    kept, altered = Store(work / "two_moons"), Store(folder / "altered")
    first, *rest = kept.current()
    runs = [change(first, kept.packed(first.key)), *((r, kept.packed(r.key)) for r in rest)]
    for record, packed in runs:
        altered.write(record, packed)
    path = folder / f"mine{submissions.SUFFIX}"
    code = {f"{MODULE}.py": (work / f"{MODULE}.py").read_bytes()}
    submissions.write(path, altered, list(altered.run_keys()), code)
    return path


def admitted(path: Path, folder: Path, share: str = "1", *flags: str) -> int:
    return admit.main([str(path), "--bundle", str(folder / "bundle"), "--share", share, *flags])


def better_score(record, packed):
    scores = {name: dict.fromkeys(of, 0.999) for name, of in record.outcome.scores.items()}
    return changed(record, scores=scores), packed


def together(record, count):
    return changed(record, cost=replace(record.cost, fitted_together=count))


def other_targets(record, packed):
    """Return predictions beside the labels that they find likeliest, with their true scores."""
    made, scores = {}, dict(record.outcome.scores)
    for name, stored in stored_arrays(packed).items():
        prediction = CategoricalPredictive(torch.from_numpy(stored.arrays["log_probs"]))
        made[name] = prediction, torch.from_numpy(stored.targets)
    prediction, _ = made["clean"]
    made["clean"] = prediction, prediction.log_probs[0].argmax(-1)
    scores["clean"] = dict(score(*made["clean"], list(scores["clean"]), None).values)
    return changed(record, scores=scores), pack(made)


def better_predictions(record, packed):
    """Return predictions that are surer of every label than the method's, with their scores."""
    made, scores = {}, {}
    sys.path.append(str(Path(os.environ["GUEST"])))
    guest = __import__(MODULE)
    for name, stored in stored_arrays(packed).items():
        targets = torch.from_numpy(stored.targets)
        log_probs = torch.from_numpy(stored.arrays["log_probs"]).clone()
        log_probs[:, range(len(targets)), targets.long()] += 1.0
        forged = guest.Told(log_probs.log_softmax(-1))
        assert isinstance(forged, CategoricalPredictive)
        made[name] = forged, targets
        names = list(record.outcome.scores[name])
        scores[name] = dict(score(forged, targets, names, record.circumstances.target).values)
    sys.path.remove(os.environ["GUEST"])
    return changed(record, scores=scores), pack(made)


def test_an_honest_class_of_predictions_is_admitted_and_imported_only_elsewhere(work, tmp_path):
    assert admitted(sent(work, tmp_path), tmp_path, "0.5") == 0
    assert MODULE not in sys.modules
    processes = (work / "imports").read_text().split()
    assert processes
    assert str(os.getpid()) not in processes
    keys = {record.key for record in bundles.read(tmp_path / "bundle" / "mine")}
    assert keys == set(Store(work / "two_moons").run_keys())


@pytest.mark.skipif(lacking() is not None, reason=f"--sandbox: {lacking()}")
def test_under_a_sandbox_no_process_that_imports_the_code_writes_beside_it(work, tmp_path):
    assert admitted(sent(work, tmp_path), tmp_path, "0.5", "--sandbox") == 0
    assert not (work / "imports").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (better_score, "false"),
        (lambda r, p: (together(r, 20), p), "20 fits were made together"),
        (lambda r, p: (changed(r, cost=replace(r.cost, fit_of="0" * 20)), p), "shared"),
        (other_targets, "other targets than the data's"),
        (lambda r, p: (changed(r, diagnostics={"converged": 1.0}), p), "converged"),
        (lambda r, p: (changed(r, method="MAP"), p), "2 kinds"),
        (lambda r, p: (changed(r, dataset="moons"), p), "moons"),
        (lambda r, p: (changed(r, title="Better"), p), "other names"),
    ],
)
def test_a_record_that_states_anything_else_is_refused(work, tmp_path, capsys, change, reason):
    assert admitted(sent(work, tmp_path, change), tmp_path) in (2, admit.REFUSED)
    assert reason in capsys.readouterr().err
    assert not (tmp_path / "bundle").exists()


def test_a_module_that_exits_when_imported_is_refused(work, tmp_path, capsys):
    path = sent(work, tmp_path)
    (work / "exit").touch()
    assert admitted(path, tmp_path) == admit.REFUSED
    assert "SystemExit" in capsys.readouterr().err


def test_a_module_that_replaces_the_checks_replaces_none_that_count(
    work, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("GUEST", str(work))
    path = sent(work, tmp_path, better_predictions)
    forget()
    (work / "patch").touch()
    assert admitted(path, tmp_path) == admit.REFUSED
    assert MODULE not in sys.modules


def test_runs_that_cannot_be_scored_are_not_called_valid(work, tmp_path, capsys, monkeypatch):
    sent(work, tmp_path, better_score)
    folder = str(tmp_path / "altered")
    assert store.command(["verify", "--rescore", folder]) == store.UNSOUND
    assert "0 valid runs, 2 not scored" in capsys.readouterr().out
    assert MODULE not in sys.modules
    monkeypatch.chdir(work)
    assert store.command(["verify", "--rescore", "--allow", MODULE, folder]) == store.UNSOUND
    told = capsys.readouterr().out
    assert "1 valid run" in told
    assert told.count("false: ") == 1
    whole = str(work / "two_moons")
    assert store.command(["verify", "--rescore", "--allow", MODULE, whole]) == store.SOUND


def test_submit_reads_records_of_others_as_text(work, tmp_path, capsys):
    method = f"{work / MODULE}.py:Share"
    out = str(tmp_path / f"mine{submissions.SUFFIX}")
    assert submit.main([method, str(work / "two_moons"), "--out", out]) == 0
    sent(work, tmp_path, lambda r, p: (changed(r, evaluations=({"type": "bystander:C"},)), p))
    assert submit.main([method, str(tmp_path / "altered"), "--out", out]) == 2
    assert "names bystander:C" in capsys.readouterr().err
    assert "bystander" not in sys.modules

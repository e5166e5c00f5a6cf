"""A library's process: transfers, cost, termination and error messages."""

import gc
import importlib.util
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bnnbench.methods import environments
from bnnbench.methods.base import InferenceDiverged, PackageMissing, Unsupported
from bnnbench.methods.fitting import children, work
from bnnbench.methods.fitting.progress import listening
from bnnbench.methods.libraries import process
from bnnbench.methods.libraries.adapter import (
    POINTS_AT_ONCE,
    fitted,
    plain_settings,
    require_layers,
)
from bnnbench.methods.libraries.laplace_torch import LaplaceTorch
from bnnbench.methods.libraries.process import LibraryFailed
from bnnbench.methods.networks.architectures import Conv2d, Linear
from bnnbench.suites.check.problems import images, regression, stream
from tests.engine.store.test_faults import alive, gone
from tests.methods.libraries.fake import LIBRARY, Fake

pytestmark = pytest.mark.usefixtures("fake_environment")


def test_a_prediction_is_what_the_library_computed_of_the_training_rows():
    problem = regression()
    posterior = Fake().fit(problem, stream(1))
    found = posterior.predict(torch.zeros(5, 4), stream(2))
    targets = problem.train.targets
    seed = int(torch.randint(2**31 - 1, (1,), generator=stream(2)))
    noise = np.random.default_rng(seed).standard_normal(3)
    expected = float(targets.mean()) + 0.1 * noise
    assert found.means[:, :, 0].numpy() == pytest.approx(np.repeat(expected[:, None], 5, 1))
    assert found.variances == pytest.approx(np.full((3, 5, 1), float(targets.var(correction=0))))
    assert posterior.diagnostics["rows"] == len(targets)


def test_many_points_come_in_parts_with_the_same_draws():
    posterior = Fake().fit(regression(), stream(1))
    found = posterior.predict(torch.zeros(POINTS_AT_ONCE + 3, 4), stream(2))
    assert len(found) == POINTS_AT_ONCE + 3
    assert torch.equal(found.means, found.means[:, :1].expand_as(found.means))


def test_no_points_have_an_empty_prediction_from_a_library_that_refuses_them():
    found = Fake().fit(regression(), stream(1)).predict(torch.zeros(0, 4), stream(2))
    assert found.means.shape == found.variances.shape == (3, 0, 1)


def test_reports_work_and_diagnostics_come_back():
    reports = []
    with listening(lambda *report: reports.append(report)), work.counting() as tally:
        posterior = Fake().fit(regression(rows=20), stream(1))
    assert reports == [(1, 2, 0.5), (2, 2, 0.25)]
    assert tally.counts == {"likelihood_rows": 20}
    rng = stream(1)
    assert posterior.diagnostics["seed"] == int(torch.randint(2**31 - 1, (1,), generator=rng))


def test_what_the_library_prints_disturbs_nothing(capfd):
    posterior = Fake("chatter").fit(regression(), stream(1))
    assert len(posterior.predict(torch.zeros(2, 4), stream(2))) == 2
    assert capfd.readouterr().out == ""


def test_the_library_writes_into_copies():
    problem = regression()
    before = problem.train.targets.clone()
    Fake("write").fit(problem, stream(1))
    assert torch.equal(problem.train.targets, before)


def test_this_project_does_not_exist_in_the_process():
    with pytest.raises(PackageMissing, match=r"No module named 'bnnbench.datasets'"):
        Fake("import").fit(regression(), stream(1))


@pytest.mark.parametrize(
    ("deed", "kind", "words"),
    [
        ("raise", LibraryFailed, r"fake-library failed in (.|\n)*KeyError: 'a name that"),
        ("diverge", InferenceDiverged, "the chain went away"),
        ("refuse", Unsupported, "fake-library: needed fewer rows; got too many: take some"),
        ("crash", LibraryFailed, r"was killed by SIG(.|\n)*fake_script.py"),
        ("exit", LibraryFailed, "ended with exit code 3; its last words:\nI am going now"),
    ],
)
def test_a_failure_has_the_librarys_own_words(deed, kind, words):
    with pytest.raises(kind, match=words):
        Fake(deed).fit(regression(), stream(1))


@pytest.mark.parametrize(
    ("deed", "words"),
    [
        ("other form", "needed arrays means and variances, or levels and values; got mean$"),
        ("other points", r"means of 5 points have the shape \(3, 4, 1\)"),
        ("pickle", "its prediction cannot be read: .*pickle, which is never read"),
        ("die in predict", "ended with exit code 7"),
    ],
)
def test_a_prediction_of_another_form_is_refused(deed, words):
    posterior = Fake(deed).fit(regression(), stream(1))
    with pytest.raises(LibraryFailed, match=words):
        posterior.predict(torch.zeros(5, 4), stream(2))


def test_a_process_that_was_killed_between_fit_and_prediction_says_so(tmp_path):
    posterior = Fake("answer", str(tmp_path / "pid")).fit(regression(), stream(1))
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    with pytest.raises(LibraryFailed, match=r"was killed by SIGKILL \(out of memory\?\)"):
        posterior.predict(torch.zeros(5, 4), stream(2))


def test_without_an_environment_the_commands_that_make_one_are_named(monkeypatch):
    monkeypatch.delenv(environments.VARIABLE)
    cure = "pip install fake-library, then --env fake-library=ENV/bin/python"
    with pytest.raises(PackageMissing, match=cure):
        Fake().fit(regression(), stream(1))
    assert cure in Fake().lacks


def program(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def fit_in(monkeypatch, interpreter: str) -> None:
    monkeypatch.setenv(environments.VARIABLE, f"{LIBRARY}={interpreter}")
    Fake().fit(regression(), stream(1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("echo hello", "answered b'hello', which is not a valid answer: is it a Python"),
        ("exit 4", "ended with exit code 4"),
        ("sleep 600", "was not ready after 1 s: is it a Python interpreter"),
    ],
)
def test_a_program_that_is_no_interpreter_is_named(monkeypatch, tmp_path, text, words):
    monkeypatch.setattr(process, "SECONDS_TO_START", 1.0)
    with pytest.raises(LibraryFailed, match=words):
        fit_in(monkeypatch, program(tmp_path, text))


def test_a_program_that_cannot_be_started_is_named(monkeypatch, tmp_path):
    path = tmp_path / "program"
    path.write_bytes(b"\0\1\2")
    path.chmod(0o755)
    with pytest.raises(LibraryFailed, match=r"cannot be started \(.*: python -m venv ENV"):
        fit_in(monkeypatch, str(path))


def test_an_environment_without_numpy_says_what_to_install(monkeypatch, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "bare"], check=True)
    with pytest.raises(PackageMissing, match=r"needed numpy and fake-library in .*pip install"):
        fit_in(monkeypatch, str(tmp_path / "bare" / "bin" / "python"))


def test_a_package_that_the_environment_lacks_is_named_with_the_cure(monkeypatch):
    if importlib.util.find_spec("laplace"):
        pytest.skip("laplace-torch is installed here")
    monkeypatch.setenv(environments.VARIABLE, f"laplace-torch={sys.executable}")
    with pytest.raises(PackageMissing, match=r"laplace-torch in .*No module named 'laplace'"):
        LaplaceTorch().fit(regression(), stream(1))


def test_a_network_that_the_script_cannot_build_is_refused_before_any_process_starts():
    padded = Conv2d(2, 3, padding=(0, 1))
    with pytest.raises(Unsupported, match=r"needed a sequence of the layers Linear.*got Conv2d"):
        require_layers(images(), Fake(), (Linear,))
    problem = replace(images(), architecture=(padded, *images().architecture[1:]))
    with pytest.raises(Unsupported, match="equally on all sides"):
        require_layers(problem, Fake(), (Conv2d, Linear))


def test_the_process_ends_with_its_posterior(tmp_path):
    posterior = Fake("answer", str(tmp_path / "pid")).fit(regression(), stream(1))
    pid = int((tmp_path / "pid").read_text())
    assert alive(pid)
    folder = Path(posterior.process._folder.name)
    assert folder.is_dir()
    del posterior
    gc.collect()
    gone([pid])
    assert not folder.exists()


@pytest.mark.long
def test_the_process_ends_with_the_one_that_started_it_though_that_was_killed(tmp_path):
    file = tmp_path / "pids"
    code = textwrap.dedent(f"""
        from bnnbench.suites.check.problems import regression, stream
        from tests.methods.libraries.fake import Fake
        Fake("linger", {str(file)!r}).fit(regression(), stream(1))
    """)
    parent = subprocess.Popen([sys.executable, "-c", code], start_new_session=True)
    give_up = time.monotonic() + 120
    while not file.exists() or len(file.read_text().split()) < 2:
        assert parent.poll() is None
        assert time.monotonic() < give_up
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    gone([int(pid) for pid in file.read_text().split()])


def test_processor_time_and_memory_of_a_living_process_are_counted():
    before, starts = children.cpu_seconds(), children.starts()
    posterior = Fake("spend", "0.5").fit(regression(), stream(1))
    spent = children.cpu_seconds() - before
    assert 0.5 <= spent < 0.5 + 30
    seconds, cpu_seconds = (b - a for a, b in zip(starts, children.starts(), strict=True))
    assert seconds > 0
    assert 0 < cpu_seconds <= spent - 0.4
    large = Fake("hold", "65").fit(regression(), stream(1))
    assert large.process.fit_bytes >= 64 * 2**20  # pages released in the meantime are not counted
    assert posterior.process.fit_bytes < 32 * 2**20
    del posterior, large
    gc.collect()
    assert children.cpu_seconds() == 0.0


def test_settings_travel_as_plain_data_and_methods_inside_stay_here():
    assert plain_settings(LaplaceTorch(structure="diag")) == {
        **{"structure": "diag", "layers": "all", "prior_precision": None},
        **{"link": "probit", "draws": 100},
    }
    assert fitted(Fake(), regression(), stream(1), extra=3).diagnostics["rows"] == 37

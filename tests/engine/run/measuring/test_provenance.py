"""Provenance of results."""

import subprocess
import sys

import torch

from bnnbench.engine.run.measuring import provenance as module
from bnnbench.engine.run.measuring.provenance import Code, now, provenance
from tests.suites.fakes import Mean

CPU = torch.device("cpu")


def test_commit_and_versions_agree_with_this_checkout(project):
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False, cwd=project
    )
    kept = provenance(CPU, Mean(), Code())
    assert kept["commit"] == (commit.stdout.strip() or None)
    assert kept["packages"]["torch"] == torch.__version__
    assert kept["python"] == ".".join(map(str, sys.version_info[:3]))


def test_git_is_asked_once(monkeypatch):
    provenance(CPU, Mean(), Code())
    monkeypatch.setattr(module.subprocess, "run", None)
    provenance(CPU, Mean(), Code())


def test_without_git_the_commit_is_unknown(monkeypatch):
    monkeypatch.setenv("PATH", "")
    module._git.cache_clear()
    assert module._git("rev-parse", "HEAD") is None


def test_times_sort_as_text():
    first, second = now(), now()
    assert first <= second
    assert len(first) == len(second)

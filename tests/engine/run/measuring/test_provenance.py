"""Provenance of results."""

import subprocess
import sys

import pytest
import torch

from bnnbench.engine.run.measuring import processor
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


@pytest.mark.parametrize(
    ("table", "name", "model"),
    [
        (
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n"
            "model name\t: AMD EPYC\nstepping\t: 1\npower management:\n\nprocessor\t: 1\n",
            "AMD EPYC",
            "vendor AuthenticAMD, family 26, model 2, stepping 1",
        ),
        (
            "processor\t: 0\nBogoMIPS\t: 50.00\nCPU implementer\t: 0x41\nCPU architecture: 8\n"
            "CPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n",
            None,
            "implementer 0x41, architecture 8, variant 0x3, part 0xd0c, revision 1",
        ),
    ],
    ids=["x86", "arm"],
)
def test_the_exact_processor_is_read_from_the_system(tmp_path, monkeypatch, table, name, model):
    path = tmp_path / "cpuinfo"
    path.write_text(table)
    monkeypatch.setattr(processor, "TABLE", path)
    assert processor.model() == model
    if name:
        assert processor.name().startswith(f"{name}, ")


def test_a_system_without_a_table_states_no_model(tmp_path, monkeypatch):
    monkeypatch.setattr(processor, "TABLE", tmp_path / "missing")
    assert processor.model() == ""
    assert processor.name()


def test_records_state_the_exact_processor():
    stated = provenance(CPU, Mean(), Code())
    assert stated["cpu_model"] == processor.model()

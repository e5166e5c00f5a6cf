"""Methods under `--sandbox`: confined while they are imported, fit, predict and are scored."""

import socket
import tempfile
from pathlib import Path

import pytest

from bnnbench.engine.run.sandbox.sandbox import Sandbox, lacking
from tests.faults.test_data_server import (
    Task,
    record,
    replace,
    results,
    task,
)
from tests.faults.test_own_classes import told

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(lacking() is not None, reason=f"--sandbox: {lacking()}"),
]


@pytest.fixture
def data(tmp_path):
    """A folder of data with one file."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "rows.txt").write_text("test rows")
    return tmp_path / "data"


def confined(one: Task, data: Path) -> Task:
    return replace(one, sandbox=Sandbox((str(data),)))


@pytest.mark.parametrize("name", ["serial", "processes"])
def test_a_method_reads_data_files_only_without_the_sandbox(name, data):
    reading = task("read", data / "rows.txt")
    free, stopped, honest = results(name, reading, confined(reading, data), confined(task(), data))
    assert record(free).outcome.status == "completed"
    assert record(stopped).outcome.status == "failed"
    assert "PermissionError: [Errno 13] Permission denied" in record(stopped).outcome.error
    assert record(honest).outcome.status == "completed"
    assert record(honest).outcome.scores == record(free).outcome.scores
    marks = [record(one).circumstances.provenance.get("sandbox") for one in (free, stopped, honest)]
    assert marks == [None, True, True]


def test_a_method_reaches_no_network(data):
    with socket.create_server(("127.0.0.1", 0)) as server:
        connecting = task("connect", server.getsockname()[1])
        free, stopped = results("serial", connecting, confined(connecting, data))
    assert record(free).outcome.status == "completed"
    assert "PermissionError" in record(stopped).outcome.error


def test_a_class_of_predictions_is_confined_where_it_is_asked(data, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(data))
    reading = told("Reading", ["log_likelihood"])
    free, stopped = results("serial", reading, confined(reading, data))
    assert record(free).outcome.status == "completed", record(free).outcome.error
    assert record(stopped).outcome.status == "failed"
    assert "PermissionError" in record(stopped).outcome.error


def test_folders_of_processes_are_removed(data, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (outcome,) = results("serial", confined(told("Normal", ["rmse"]), data))
    assert record(outcome).outcome.status == "completed"
    assert [path.name for path in tmp_path.iterdir()] == ["data"]

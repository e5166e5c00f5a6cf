"""Reports of worker processes: read as what they are, or refused."""

import json
import os
import pickle
import struct

import pytest

from bnnbench.datasets.errors import DataUnavailable
from bnnbench.engine.records.record_json import to_json
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.rows import LocalRows
from bnnbench.engine.run.states import Failed
from bnnbench.engine.run.task import Packed
from bnnbench.engine.workers import reports
from bnnbench.engine.workers.channel import Channel, Malformed, Plain
from tests.engine.workers.test_workers import task
from tests.suites.fakes import Mean

TASK = task(Mean())


def sent(plain: Plain) -> Plain:
    return Plain.unpacked(b"".join(plain.packed()))


class Command:
    """Runs a command in the process that opens its pickle."""

    def __reduce__(self):
        return os.system, ("touch opened",)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"5", b"[1, []]", struct.pack(">Q", 2**63) + b"{}"),
        struct.pack(">Q", 6) + b"[1, 2]",
        struct.pack(">Q", 9) + b"[1, [-1]]",
        struct.pack(">Q", 10) + b'[1, ["a"]]',
        struct.pack(">Q", 8) + b"[1, [9]]",
        struct.pack(">Q", 100_000) + b"[" * 100_000,
        pickle.dumps(("progress", Command())),
    ],
    ids=lambda content: repr(content[:12]),
)
def test_bytes_that_are_no_message_are_refused_and_not_opened(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ours, theirs = Channel.pair()
    theirs.socket.sendall(struct.pack(">Q", len(content)) + content)
    with pytest.raises(Malformed):
        ours.told()
    assert not (tmp_path / "opened").exists()
    ours.close()
    theirs.close()


def test_a_message_that_announces_too_many_bytes_is_refused_at_once():
    ours, theirs = Channel.pair()
    theirs.socket.sendall(struct.pack(">Q", 2**40))
    with pytest.raises(Malformed, match="limit"):
        ours.told()
    ours.close()
    theirs.close()


def test_files_come_through_whole_and_in_order():
    plain = Plain({"a": [1, None, "ü"]}, (b"one", b"", os.urandom(1000)))
    assert sent(plain) == plain


ODD = [
    *(None, 5, [], "begun", {}, {"event": 5}, {"event": ["done"]}, {"event": "other"}),
    *({"event": "progress"}, {"event": "progress", "report": 5}),
    {"event": "progress", "report": [1, 2]},
    {"event": "progress", "report": [1, 2, "x"]},
    {"event": "progress", "report": [True, 2, 0.5]},
    {"event": "progress", "report": [[], 2, 0.5]},
    *({"event": "done"}, {"event": "done", "records": [], "stored": []}),
    {"event": "done", "records": ["{}"], "stored": [[True]]},
    {"event": "done", "records": 5, "stored": [[False]]},
    *({"event": "broken"}, {"event": "broken", "reason": 5}),
    {"event": "error", "kind": [], "text": "", "trace": ""},
    {"event": "predictions", "stored": [[True]]},
    {"event": "predictions", "stored": [[True, True]]},
    {"event": "predictions", "stored": [[1, 0]]},
    {"event": "drafts", "records": ["{"], "stored": [[False]]},
]


@pytest.mark.parametrize("content", ODD, ids=json.dumps)
def test_reports_of_another_form_are_refused(content):
    with pytest.raises(Malformed):
        reports.read(sent(Plain(content)), TASK)


def test_a_record_of_another_run_is_refused_and_names_do_not_come_from_the_sender():
    (outcome,) = execute(TASK)
    other = task(Mean(), folds=(1,))
    with pytest.raises(Malformed, match="belongs to run"):
        reports.read(sent(reports.results([outcome], last=False)), other)
    content = {"event": "done", "stored": [[True]]}
    forged = json.loads(to_json(outcome.record))
    altered = sent(Plain(content | {"records": [json.dumps(forged | {"seed": 1})]}, (b"",)))
    with pytest.raises(Malformed, match="checksum"):
        reports.read(altered, TASK)
    text = to_json(outcome.record.__class__(**{**vars(outcome.record), "method": "another"}))
    _, (result,) = reports.read(sent(Plain(content | {"records": [text]}, (b"",))), TASK)
    assert result.record.method == TASK.runs[0].label


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (DataUnavailable("fetch it"), DataUnavailable, "fetch it"),
        (KeyError("name"), KeyError, "'name'"),
        (OSError(28, "No space left"), OSError, "[Errno 28] No space left"),
        (pickle.PicklingError("odd"), RuntimeError, "PicklingError: odd"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_an_error_keeps_its_class_only_if_the_driver_knows_it(error, kind, text):
    try:
        raise error
    except Exception as caught:
        report = sent(reports.failure(caught))
    event, read = reports.read(report, TASK)
    assert (event, type(read)) == ("error", kind)
    assert text in str(read)
    assert "Traceback" in "".join([*getattr(read, "__notes__", []), str(read)])


def test_predictions_too_large_to_send_fail_their_run_alone(monkeypatch):
    monkeypatch.setattr(reports, "LARGEST_RUN", 100)
    (loaded,) = LocalRows().load(TASK.runs)
    whole, large = Packed(loaded, b"1" * 60, b"1" * 40), Packed(loaded, b"1" * 60, b"1" * 41)
    one, other = reports.small_enough([whole, large])
    assert one is whole
    assert isinstance(other.state, Failed)
    assert "give their class a `summary`" in other.state.error
    assert other.predictions is other.trials is None


def test_the_limit_of_a_report_grows_with_the_runs_of_its_task():
    several = task(Mean(), folds=(0, 1, 2))
    assert reports.largest(several) - reports.largest(TASK) == 2 * reports.LARGEST_RUN

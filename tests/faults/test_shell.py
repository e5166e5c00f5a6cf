"""Third-party names and messages are no formulas in a spreadsheet and do not control a terminal."""

import csv
import io
import math
import re
import subprocess
import sys
import types
from dataclasses import replace

import pytest
from rich.console import Console

from bnnbench.__main__ import COMMANDS
from bnnbench.__main__ import main as one_command
from bnnbench.commands import store as stores
from bnnbench.commands.planning.forecast import Forecast
from bnnbench.commands.report import main
from bnnbench.commands.running.summary import print_failures, print_tables
from bnnbench.commands.suite import now_and_then
from bnnbench.commands.terminal.display import Lines, Live
from bnnbench.commands.terminal.terminal import say
from bnnbench.datasets.reading.third_party_text import FORMULA, cell, legible
from bnnbench.engine.run.task import Outcome, Task
from bnnbench.engine.store.tables import write_tables
from tests.engine.records.test_record import RECORD
from tests.reports.synthetic import keep, record
from tests.suites.miniature import QUICK
from tests.suites.small_store import RUN

pytestmark = pytest.mark.long


FORMULAS = [f"{sign}HYPERLINK(1)" for sign in FORMULA]
SPLITTING = ["\t=1", "\r=1", "a\r=1", "a\n=1", 'a",=1']
STEERING = "\x1b[2J\x1b[31mgone\rover\nfaked: 5 of 5 runs completed\x07\x9b1A\u202e"
RAW = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


def told(text: str) -> str:
    """Return printed text without control characters, in which lines are not mixed."""
    assert not RAW.search(text), RAW.findall(text)
    assert not re.search("^ *faked", text, re.MULTILINE)
    return text


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_looks_like_a_formula_is_quoted(text):
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize("value", [-1.5, -3, -math.inf, math.nan, None, True, "AdamW", "", "1e-3"])
def test_numbers_and_other_texts_stay(value):
    assert cell(value) is value


def test_no_table_of_a_store_or_report_holds_a_formula(tmp_path):
    names = [*FORMULAS, *SPLITTING]
    store = keep(
        tmp_path / "r" / "cifar10",
        [record(name, scores={"clean": {"nll": -1.5}}, dataset=name) for name in names],
    )
    write_tables(store)
    tables = {path: path.read_bytes().decode() for path in store.folder.glob("*.csv")}
    main([str(tmp_path / "r"), "--out", str(tmp_path / "site")])
    out = tmp_path / "all.csv"
    assert main(["export", str(tmp_path / "r"), "--out", str(out)]) == 0
    tables |= {path: path.read_bytes().decode() for path in (tmp_path / "site").rglob("*.csv")}
    tables[out] = out.read_bytes().decode()
    assert {path.name for path in tables} >= {
        "metrics.csv",
        "costs.csv",
        "tables.csv",
        "runs.csv",
        "all.csv",
    }
    for path, text in tables.items():
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        cells = [text for row in rows for text in row.values()]
        assert {c for c in cells if c.startswith(FORMULA)} <= {"-1.5"}, path
        assert {row["method"].removeprefix("'") for row in rows} == set(map(legible, names)), path


def test_control_characters_show_escaped():
    assert legible("a\x1b[0m\n\r\t\x9b\u202eé ± \udcff") == r"a\x1b[0m\n\r\t\x9b\u202eé ± \xff"
    assert legible("\ud800") == r"\ud800"


def steering(**changes):
    changes = {"method": STEERING, "dataset": STEERING} | changes
    return replace(RECORD, **changes)


def console() -> Console:
    return Console(file=io.StringIO(), width=200)


def test_the_tables_and_failures_at_the_end_of_a_command_steer_nothing():
    shown = console()
    print_tables(QUICK, [steering()], shown)
    print_failures([steering(status="failed", error=f"Traceback\n{STEERING}")], shown)
    print_failures([steering(not_scored={STEERING: STEERING})], shown)
    say(shown, STEERING)
    assert r"\x1b[2J" in told(shown.file.getvalue())


@pytest.mark.parametrize("display", [Live, Lines])
def test_the_progress_of_a_suite_steers_nothing(display):
    task, shown = Task((replace(RUN, label=STEERING),), ()), console()
    progress = display(shown, 2, Forecast({}, 1))
    progress.started(task)
    progress.lost(task, STEERING)
    progress.note(STEERING)
    progress.finished(task, [Outcome(steering(), None)])
    assert r"\x1b[2J" in told(shown.file.getvalue())


def test_commands_about_stores_steer_nothing(tmp_path, capsys):
    for name, loss in (("a", 1.0), ("b", 2.0)):
        scores = {"clean": {"nll": loss}}
        keep(tmp_path / name / "s", [record(STEERING, dataset=STEERING, scores=scores)])
    stores.command(["list", str(tmp_path / "a" / "s")])
    main(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    main(["export", str(tmp_path / "\x1b[2J")])
    main([str(tmp_path / "\x1b[2J")])
    captured = capsys.readouterr()
    assert captured.out.count(r"\x1b[2J") >= 2
    assert captured.err.count(r"\x1b[2J") == 2
    told(captured.out + captured.err)


@pytest.mark.parametrize("arguments", [["methods"], ["store", "list", "{store}"]])
def test_a_reader_that_has_seen_enough_gets_no_traceback(arguments, tmp_path):
    keep(tmp_path / "uci", [record(suite="uci", seed=seed) for seed in range(3)])
    command = [sys.executable, "-m", "bnnbench", *(a.format(store=tmp_path) for a in arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        complaints = process.stderr.read()
    assert complaints == b""
    assert process.returncode == 1


def test_ctrl_c_is_one_word_and_the_exit_code_of_shells(monkeypatch, capsys):
    def carry_out(arguments):
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "interrupted_command", types.SimpleNamespace(main=carry_out))
    monkeypatch.setitem(COMMANDS, "long", ("interrupted_command", "takes long"))
    with pytest.raises(SystemExit) as ending:
        one_command(["long"])
    assert ending.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_lines_on_the_progress_of_distances_are_told_now_and_then(monkeypatch):
    clock = iter((0.0, 3.0, 11.0, 11.0, 12.0))
    monkeypatch.setattr("bnnbench.commands.suite.time.monotonic", lambda: next(clock))
    told = []
    tell = now_and_then(told.append)
    for line in ("early", "late", "again"):
        tell(line)
    assert told == ["late"]

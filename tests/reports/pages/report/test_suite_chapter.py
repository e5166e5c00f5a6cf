"""Reports of many suites are written on several cores, with equal results."""

import os
from pathlib import Path

import pytest

from bnnbench.commands.report import main
from bnnbench.reports.pages.report import suite_chapter
from tests.reports.browsing import keep_suites
from tests.reports.synthetic import keep, runs_of


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def lose(order: suite_chapter.Order) -> suite_chapter.Written:
    """End the process, as for lack of memory."""
    os._exit(1)


@pytest.fixture
def on_two_cores(monkeypatch):
    monkeypatch.setattr(suite_chapter, "MANY", 1)
    monkeypatch.setattr(suite_chapter, "cores", lambda: 2)


@pytest.mark.long
def test_a_site_is_the_same_on_one_core_and_on_two(tmp_path, monkeypatch, capsys, on_two_cores):
    keep_suites(tmp_path / "results")
    two = main([str(tmp_path / "results"), "--out", str(tmp_path / "site")]), capsys.readouterr()
    written = contents(tmp_path / "site")
    for path in sorted((tmp_path / "site").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    monkeypatch.setattr(suite_chapter, "cores", lambda: 1)
    one = main([str(tmp_path / "results"), "--out", str(tmp_path / "site")]), capsys.readouterr()
    assert sum(Path(name).name == "report.html" for name in written) > 1
    assert two == one
    assert written == contents(tmp_path / "site")


@pytest.mark.long
def test_a_suite_that_cannot_be_written_does_not_hold_up_the_others(tmp_path, capsys, on_two_cores):
    for suite in ("cifar10", "mnist"):
        keep(tmp_path / "results" / suite, runs_of({"AdamW": [1.0, 2.0]}))
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "cifar10").write_text("a file where a folder should be")
    assert (
        main([str(tmp_path / "results"), "--out", str(tmp_path / "site")]) == suite_chapter.DAMAGED
    )
    told = capsys.readouterr()
    assert "cannot write the report" in told.err
    assert "index.html: 1 suite\n" in told.out
    assert (tmp_path / "site" / "mnist" / "report.html").is_file()
    assert "cifar10/report.html" not in (tmp_path / "site" / "index.html").read_text()


@pytest.mark.long
def test_a_process_that_is_lost_is_an_error_that_names_its_suites(
    tmp_path, monkeypatch, capsys, on_two_cores
):
    for suite in ("cifar10", "mnist"):
        keep(tmp_path / "results" / suite, runs_of({"AdamW": [1.0, 2.0]}))
    monkeypatch.setattr(suite_chapter, "written_report", lose)
    assert main([str(tmp_path / "results"), "--out", str(tmp_path / "site")]) == 2
    told = capsys.readouterr().err
    assert "error: cifar10: its pages were not written" in told
    assert "error: mnist: its pages were not written" in told

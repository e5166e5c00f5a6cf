"""Joules of a GPU, by a stand-in for NVML that counts on request."""

import dataclasses
import re
import sys
from types import SimpleNamespace

import pandas as pd
import pynvml
import pytest
import torch

from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.engine.run.devices import SHARE
from bnnbench.engine.run.measuring import stopwatch
from bnnbench.engine.store.store import Store
from bnnbench.engine.store.tables import write_tables
from bnnbench.reports.pages.report.content import content
from bnnbench.reports.read.load import read
from tests.engine.run.test_execute import outcomes
from tests.reports.first_pages import render
from tests.reports.synthetic import keep, record
from tests.suites.fakes import Together

ENERGY = r"Energy\s*<span class=\"unit\">kJ</span>"
CPU, GPU = torch.device("cpu"), torch.device("cuda:0")


class Driver:
    """A device whose reading rises by 7 J each time, or whose counter is defective."""

    NVMLError = pynvml.NVMLError

    def __init__(self, fails=""):
        self.fails, self.millijoules, self.asked = fails, 1_000_000, []

    def _maybe(self, name):
        if self.fails == name:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)

    def nvmlInit(self):
        self._maybe("init")

    def nvmlDeviceGetHandleByUUID(self, identity):
        self._maybe("handle")
        self.asked.append(identity)
        return "board"

    def nvmlDeviceGetTotalEnergyConsumption(self, handle):
        assert handle == "board"
        self._maybe("counter")
        self.millijoules += 7000
        return self.millijoules


@pytest.fixture
def driver(monkeypatch):
    def install(fails=""):
        found = Driver(fails)
        monkeypatch.setitem(sys.modules, "pynvml", found)
        properties = SimpleNamespace(uuid="0123-45")
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: properties)
        monkeypatch.setattr(torch.cuda, "synchronize", lambda _: None)
        stopwatch._counter.cache_clear()
        return found

    yield install
    stopwatch._counter.cache_clear()


def test_the_block_is_charged_what_the_counter_rose(driver):
    board = driver()
    with stopwatch.stopwatch(GPU) as watch:
        pass
    assert watch.joules == pytest.approx(7.0)
    assert board.asked == ["GPU-0123-45"]


@pytest.mark.parametrize("fails", ["init", "handle", "counter"])
def test_a_driver_that_does_not_count_leaves_it_unknown(driver, fails):
    driver(fails)
    with stopwatch.stopwatch(GPU) as watch:
        pass
    assert watch.joules is None


def test_a_board_that_workers_share_counts_for_none_of_them(driver, monkeypatch):
    driver()
    monkeypatch.setenv(SHARE, "0.5")
    assert stopwatch.joules(GPU) is None
    monkeypatch.setenv(SHARE, "1.000000")
    assert stopwatch.joules(GPU) == 1007.0


def test_without_the_package_and_on_a_cpu_it_is_unknown(driver, monkeypatch):
    driver()
    assert stopwatch.joules(CPU) is None
    stopwatch._counter.cache_clear()
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert stopwatch.joules(GPU) is None


def test_the_package_has_what_is_asked_of_it():
    names = [n for n in vars(Driver) if n.startswith("nvml")]
    assert names
    assert all(callable(getattr(pynvml, name)) for name in names)


def test_fits_share_the_energy_of_all_and_records_and_tables_tell_it(monkeypatch, tmp_path):
    counter = iter(range(0, 10_000, 600))
    monkeypatch.setattr(stopwatch, "joules", lambda device: float(next(counter)))
    found = outcomes(Together(), folds=(0, 1), seeds=(0, 1))
    assert [outcome.record.cost.fit_joules for outcome in found] == [150.0] * 4
    store = Store(tmp_path / "line")
    for outcome in found:
        store.write(outcome.record, outcome.predictions)
    assert {r.cost.fit_joules for r in Store(store.folder).current()} == {150.0}
    write_tables(store)
    assert set(pd.read_csv(store.folder / "costs.csv")["fit_joules"]) == {150.0}


def test_on_a_cpu_a_record_says_nothing_of_energy():
    (outcome,) = outcomes(Together())
    assert outcome.record.cost.fit_joules is None
    assert from_json(to_json(outcome.record)).cost == outcome.record.cost


def test_a_report_has_energy_where_a_run_has(tmp_path):
    runs = [record(method, seed=seed) for method in ("AdamW", "IVON") for seed in (0, 1, 2)]
    text = page(tmp_path / "without", runs)
    assert re.search(r"Memory\s*<span class=\"unit\">MiB</span>", text)
    assert not re.search(ENERGY, text)
    metered = [
        dataclasses.replace(run, cost=dataclasses.replace(run.cost, fit_joules=2500.0 + run.seed))
        for run in runs
    ]
    text = page(tmp_path / "with", metered)
    assert re.search(ENERGY, text)
    assert 'data-value="2501"' in text
    assert "energy to fit, kJ" in text


def page(folder, runs):
    keep(folder, runs)
    return render(content(read(folder)))

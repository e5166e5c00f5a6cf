"""Seconds on different processors and GPUs, which are not compared."""

import pytest

from bnnbench.engine.records.cost import Cost
from bnnbench.reports.judge.columns import cost_columns
from bnnbench.reports.judge.summaries.costs import costs
from bnnbench.reports.judge.table import Cell
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.devices import (
    by_frequency,
    devices,
    elsewhere_in_words,
    gpu,
    has_processor_seconds,
    timed_elsewhere,
)
from tests.records import changed
from tests.reports.synthetic import PROVENANCE, runs_of

H100 = "NVIDIA H100 80GB HBM3"


def on(places, cpus=None, models=None):
    """Return a run of each method on its device and processor, with ten seconds of wall time."""
    runs = runs_of({method: [1.0] for method in places})
    cpus, models = cpus or {}, models or {}
    return [
        changed(
            run,
            cost=Cost(10.0, 0.1, 1.0, fit_cpu_seconds=2.0 + k),
            provenance={
                **PROVENANCE,
                "device": places[run.method],
                "cpu": cpus.get(run.method, "AMD EPYC"),
                "cpu_model": models.get(run.method, ""),
            },
        )
        for k, run in enumerate(runs)
    ]


def test_fits_on_a_gpu_stand_apart_from_those_of_processors():
    runs = on({"AdamW": "cpu", "IVON": "cpu", "MP": H100})
    (mp,) = [run for run in runs if run.method == "MP"]
    assert timed_elsewhere(runs) == {mp.key: H100}
    assert elsewhere_in_words(runs) == (
        f"Left out: MP, fitted on a GPU ({H100}): GPU seconds are not comparable with "
        "processor seconds."
    )
    found = costs(benchmarks(runs))
    assert found
    assert set(found.ratios) == {"AdamW", "IVON"}
    assert found.of_processors


def test_fits_that_are_all_on_one_gpu_are_compared_by_the_clock():
    runs = on({"AdamW": H100, "MP": H100})
    assert timed_elsewhere(runs) == {}
    assert elsewhere_in_words(runs) == ""
    found = costs(benchmarks(runs))
    assert found
    assert not found.of_processors
    assert found.ratios == pytest.approx({"AdamW": 1.0, "MP": 1.0})


@pytest.mark.parametrize("device", ["cpu", "unknown", ""])
def test_processors_and_devices_that_were_lost_are_no_gpu(device):
    runs = on({"AdamW": device})
    assert gpu(runs[0]) is None
    assert has_processor_seconds(runs)


CPU = dict.fromkeys(("AdamW", "IVON", "MP", "SGD"), "cpu")
TURIN, GENOA = "family 26, model 2", "family 25, model 17"


def test_fits_on_another_processor_stand_apart():
    runs = on(CPU, cpus={"MP": "Intel Xeon"})
    (mp,) = [run for run in runs if run.method == "MP"]
    assert timed_elsewhere(runs) == {mp.key: "Intel Xeon"}
    assert elsewhere_in_words(runs) == (
        "Left out: MP, fitted on another processor (Intel Xeon): seconds on different processors "
        "are not comparable."
    )
    compared = costs(benchmarks(runs))
    assert compared
    assert set(compared.ratios) == {"AdamW", "IVON", "SGD"}


def test_processors_of_one_name_are_told_apart_by_their_exact_model():
    runs = on(CPU, models={"AdamW": TURIN, "IVON": TURIN, "MP": GENOA})
    device = {run.method: devices(runs)[run.key] for run in runs}
    # A run that does not state its model counts as the most frequent one of the name.
    assert device == {
        "AdamW": f"AMD EPYC ({TURIN})",
        "IVON": f"AMD EPYC ({TURIN})",
        "MP": f"AMD EPYC ({GENOA})",
        "SGD": f"AMD EPYC ({TURIN})",
    }
    assert set(timed_elsewhere(runs)) == {run.key for run in runs if run.method == "MP"}


def test_one_model_needs_no_mention():
    runs = on(CPU, models={"AdamW": TURIN})
    assert set(devices(runs).values()) == {"AMD EPYC"}
    assert timed_elsewhere(runs) == {}


def test_processors_come_before_gpus_however_many_these_are():
    runs = on({"AdamW": "cpu", "IVON": H100, "MP": H100})
    assert by_frequency(runs) == ["AMD EPYC", H100]


def test_seconds_of_each_device_have_a_column_of_their_own():
    runs = on(CPU | {"IVON": H100}, cpus={"MP": "Intel Xeon"})
    methods = list(CPU)
    columns = list(cost_columns(benchmarks(runs)[0], "fit_seconds", methods))
    assert [column.heading for column, _ in columns] == [
        "Fit",
        "Fit (Intel Xeon)",
        f"Fit ({H100})",
    ]
    shown = [
        [method for method, cell in zip(methods, cells, strict=True) if isinstance(cell, Cell)]
        for _, cells in columns
    ]
    assert shown == [["AdamW", "SGD"], ["MP"], ["IVON"]]
    assert len(list(cost_columns(benchmarks(runs)[0], "peak_bytes", methods))) == 1

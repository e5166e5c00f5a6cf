"""Costs of fits on a GPU, which are not compared with costs on processors."""

import pytest

from bnnbench.engine.records.cost import Cost
from bnnbench.reports.judge.summaries.costs import costs
from bnnbench.reports.read.benchmarks import benchmarks
from bnnbench.reports.read.devices import (
    elsewhere_in_words,
    gpu,
    has_processor_seconds,
    timed_elsewhere,
)
from tests.records import changed
from tests.reports.synthetic import PROVENANCE, runs_of

H100 = "NVIDIA H100 80GB HBM3"


def on(devices):
    """Return a run of each method on its device, with ten seconds of wall time."""
    runs = runs_of({method: [1.0] for method in devices})
    return [
        changed(
            run,
            cost=Cost(10.0, 0.1, 1.0, fit_cpu_seconds=2.0 + k),
            provenance={**PROVENANCE, "device": devices[run.method]},
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

"""Histograms of a network's noisy outputs for one image, compared with propagated moments."""

from collections.abc import Iterator, Sequence

import numpy as np

from bnnbench.datasets.conditions import condition_names
from bnnbench.engine.records.record import Record
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Gallery, Material, Section
from bnnbench.reports.sections.suites import outputs_figure as figure
from bnnbench.reports.sections.suites.outputs_figure import Output

ABOUT = (
    "The outputs of a trained network for one test image whose noise is drawn anew in each sample: "
    "each grey bar holds a twentieth of the samples, the outermost a little less; a hundredth "
    "at either end is not drawn. A curve is the Gaussian of a "
    "method's propagated moments, a vertical line the mean of one that propagates only means. "
    "A figure is one trained network."
)


def sections(material: Material) -> Iterator[Section]:
    """Yield the figures of networks whose outputs were sampled."""
    drawings = [
        figure.draw(outputs, material.styles, f"{name}-{seed}", f"{where}, seed {seed}")
        for benchmark, name, where in material.figure_places("outputs")
        for seed, outputs in outputs_of(benchmark, material.methods).items()
    ]
    if drawings:
        yield Section(
            galleries=(Gallery("Outputs for one image", ABOUT, tuple(drawings), wide=True),)
        )


def outputs_of(benchmark: Benchmark, methods: Sequence[str]) -> dict[int, list[Output]]:
    """Return seed → the sampled outputs, with the moments of all completed runs."""
    runs: dict[int, dict[str, Record]] = {}
    for method in methods:
        for record in benchmark.runs.get(method, ()):
            if (
                record.outcome.status == "completed"
                and condition_names.output(0) in record.outcome.scores
            ):
                runs.setdefault(record.seed, {})[method] = record
    return {seed: _outputs(benchmark, runs[seed]) for seed in sorted(runs)}


def _outputs(benchmark: Benchmark, records: dict[str, Record]) -> list[Output]:
    first = next(iter(records.values()))
    quantiles: dict[int, dict[float, float]] = {}
    for condition, scores in first.outcome.scores.items():
        traits = benchmark.traits[condition]
        if traits.output is not None and traits.level is not None:
            quantiles.setdefault(traits.output, {})[traits.level] = scores["sampled_quantile"]
    outputs = []
    for number, by_level in sorted(quantiles.items()):
        levels = sorted(by_level)
        scores = {m: r.outcome.scores[condition_names.output(number)] for m, r in records.items()}
        moments = {m: (s["propagated_mean"], s.get("propagated_std")) for m, s in scores.items()}
        outputs.append(
            Output(number, np.array(levels), np.array([by_level[p] for p in levels]), moments)
        )
    return outputs

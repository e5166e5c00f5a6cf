"""Histograms of a network's noisy outputs for one image, compared with propagated moments."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64
from matplotlib.axes import Axes
from scipy.stats import norm

from bnnbench.datasets.conditions import condition_names
from bnnbench.engine.records.record import Record
from bnnbench.reports.figures.canvas import INK, OWN, Drawing, drawing
from bnnbench.reports.figures.methods import best_first, gid, shared
from bnnbench.reports.read.benchmarks import Benchmark
from bnnbench.reports.sections.base import Gallery, Material, Section
from bnnbench.reports.style.palette import Style

ABOUT = (
    "The outputs of a trained network for one test image whose noise is drawn anew in each sample: "
    "each grey bar holds a twentieth of the samples, the outermost a little less; a hundredth "
    "at either end is not drawn. A curve is the Gaussian of a "
    "method's propagated moments, a vertical line the mean of one that propagates only means. "
    "A figure is one trained network."
)

COLUMNS, PANEL, ROW, LEFT = 5, 1.7, 1.3, 0.1
"""Panels in a row, and sizes in inches."""
REACH = 0.75
"""A panel extends beyond the samples' inner range by this share of it."""


@dataclass(frozen=True)
class Output:
    """One output: quantiles of its samples, and its propagated moments by method."""

    number: int
    levels: Float64[np.ndarray, " levels"]
    quantiles: Float64[np.ndarray, " levels"]
    moments: Mapping[str, tuple[float, float | None]]
    """Method → mean and standard deviation; None if only means are propagated."""


def sections(material: Material) -> Iterator[Section]:
    """Yield the figures of networks whose outputs were sampled."""
    drawings = [
        draw_outputs(outputs, material.styles, f"{name}-{seed}", f"{where}, seed {seed}")
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


def draw_outputs(
    outputs: Sequence[Output], styles: Mapping[str, Style], identifier: str, where: str
) -> Drawing:
    """Return a panel for each output: a histogram between quantiles, Gaussians and lines.

    A method is drawn as the Gaussian of its moments, or as a line at its mean if it has no
    deviation.
    """
    rows = -(-len(outputs) // COLUMNS)
    with drawing(0.2 + ROW * rows, LEFT, LEFT + PANEL * COLUMNS, top=0.2) as figure:
        figure.subplots_adjust(hspace=0.75, wspace=0.12)
        panels = list(figure.subplots(rows, COLUMNS, squeeze=False).flat)
        for axes in panels[len(outputs) :]:
            axes.remove()
        for axes, output in zip(panels, outputs, strict=False):
            _panel(axes, output, styles)
        listed = "; ".join(map(_in_words, outputs))
        order = best_first({m: _distance(outputs, m) for m in outputs[0].moments})
        description = f"Outputs for one image, {where}, samples and propagated moments: {listed}."
        drawn = shared(figure, identifier, description, styles, order, named=False)
        return drawn.under(where)


def _panel(axes: Axes, output: Output, styles: Mapping[str, Style]) -> None:
    low, high = output.quantiles[[0, -1]]
    widths, shares = np.diff(output.quantiles), np.diff(output.levels)
    heights = np.divide(shares, widths, out=np.zeros_like(shares), where=widths > 0)
    axes.stairs(heights, output.quantiles, fill=True, color=INK, alpha=0.3, linewidth=0)
    means = [mean for mean, _ in output.moments.values()]
    reach = REACH * (high - low)
    low, high = min(low - reach, *means), max(high + reach, *means)
    x = np.linspace(low, high, 161)
    for method, (mean, std) in output.moments.items():
        style = styles[method]
        settings = {"color": OWN, "dashes": style.dash or (None, None), "gid": gid(method)}
        if std is None:
            axes.axvline(mean, linewidth=1.2, **settings)
        else:
            axes.plot(x, norm.pdf(x, mean, std), linewidth=1.2, **settings)
    axes.set(xlim=(low, high), yticks=[])
    axes.set_ylim(bottom=0)
    axes.set_title(f"output {output.number}", fontsize=7.5, color=INK, pad=3)
    axes.spines["left"].set_visible(False)
    axes.locator_params(axis="x", nbins=4)


def _distance(outputs: Sequence[Output], method: str) -> float:
    """Return the mean distance between the quantiles of a method and of the samples."""
    distances = []
    for output in outputs:
        mean, std = output.moments[method]
        quantiles = mean + (std or 0.0) * norm.ppf(output.levels)
        distances.append(np.abs(quantiles - output.quantiles).mean())
    return float(np.mean(distances))


def _in_words(output: Output) -> str:
    low, middle, high = np.interp((0.05, 0.5, 0.95), output.levels, output.quantiles)
    moments = ", ".join(
        f"{method} {mean:.2f}" + ("" if std is None else f" ± {std:.2f}")
        for method, (mean, std) in output.moments.items()
    )
    return f"{output.number} sampled {low:.2f} to {high:.2f}, median {middle:.2f}; {moments}"

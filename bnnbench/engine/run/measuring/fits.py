"""The cost of a fit, and its entries in the provenance of its runs."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import torch

from bnnbench.engine.run import checkpoints
from bnnbench.engine.run.measuring import memory
from bnnbench.engine.run.measuring.stopwatch import stopwatch
from bnnbench.engine.run.states import FitCost, Loaded
from bnnbench.methods.fitting import children, tf32, work

Result = TypeVar("Result")
Notes = Callable[[Mapping[str, object]], Mapping[str, object]]
"""A function from the notes on a run's earlier fits to the notes on all."""


def measured(
    fit: Callable[[], Result],
    runs: Sequence[Loaded],
    number: int,
    device: torch.device,
    folder: Path | None,
) -> tuple[Result, FitCost, Notes]:
    """Return the result of a fit of several runs together, its cost, and notes on it.

    If a fit continues from a checkpoint in `folder`, its cost includes the time before; its energy,
    processor time and work are then unknown. Starting other libraries' processes counts as
    compilation.
    """
    before = children.starts()
    names, train = [loaded.run for loaded in runs], [loaded.data.train for loaded in runs]
    with (
        memory.growth(device) as grown,
        stopwatch(device) as watch,
        work.counting() as tally,
        tf32.watching() as allowed,
        checkpoints.checkpoint_folder(
            folder, names, number, train, device, grown.so_far
        ) as checkpoint,
    ):
        result = fit()
    starting, starting_cpu = (b - a for a, b in zip(before, children.starts(), strict=True))
    continued = checkpoint.earlier_seconds > 0
    cost = FitCost(
        watch.seconds - starting + checkpoint.earlier_seconds,
        starting,
        max(grown.bytes + children.fit_bytes(), checkpoint.earlier_peak_bytes),
        watch.busy_elsewhere,
        None if continued else watch.joules,
        None if continued else watch.cpu_seconds - starting_cpu,
        None if continued else tally.counts,
    )
    environments = children.environments()

    def notes(earlier: Mapping[str, object]) -> Mapping[str, object]:
        here = {**earlier, **({"environments": environments} if environments else {})}
        return {
            **checkpoints.provenance_entries(checkpoint, here),
            **tf32.entry(device, allowed),
        }

    return result, cost, notes

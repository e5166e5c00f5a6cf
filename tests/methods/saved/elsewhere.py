"""`python -m tests.methods.saved.elsewhere FOLDER`: load and predict in a process of its own.

Each folder in FOLDER is a saved posterior; `inputs.npz` has the inputs of each by its name. The
predictions are written to `predictions.npz`, and diagnostics to `diagnostics.json`.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

import bnnbench
from bnnbench.engine.run.packing import vars_of
from bnnbench.suites.check.problems import stream

ONE, OTHER = "one", "other"


def predictions(posterior, inputs: torch.Tensor) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays of a prediction of all inputs, and of a part of them."""
    for part, rows in ((ONE, inputs), (OTHER, inputs[3:10])):
        for name, tensor in vars_of(posterior.predict(rows, stream(2))).items():
            yield f"{part}.{name}", tensor.numpy()


def main(folder: Path) -> None:
    """Load and predict all posteriors of a folder."""
    inputs = dict(np.load(folder / "inputs.npz"))
    arrays, diagnostics = {}, {}
    for name, rows in inputs.items():
        posterior = bnnbench.load(folder / name)
        diagnostics[name] = dict(posterior.diagnostics)
        for key, array in predictions(posterior, torch.from_numpy(rows)):
            arrays[f"{name}/{key}"] = array
        bnnbench.save(posterior, folder / f"{name}.again")
    np.savez(folder / "predictions.npz", **arrays)
    (folder / "diagnostics.json").write_text(json.dumps(diagnostics))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

"""Files of families: functions drawn from one distribution at the same inputs, with posteriors.

Values are stored instead of seeds, since NumPy and torch do not promise stable random streams.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bnnbench.datasets.reading import finished_runs, npz
from bnnbench.datasets.reading.whole_files import read_regular, write_whole

NAME = "oracles"
"""Name of the folder of families."""
FORMAT = 1
LARGEST_R_HAT, LEAST_ESS = 1.01, 400.0
KEYS = ("format", "name", "law", "noise_std", "classes", "inputs", "posterior")


@dataclass(frozen=True)
class Family:
    """Functions from one distribution, their targets, and the exact posteriors.

    The output is one number in standardised units, or class probabilities. Mean and standard
    deviation of the posterior refer to it; the deviation of class probabilities is the root of
    their summed variances.
    """

    stated: Mapping[str, Any]
    """`KEYS`: the distribution as plain data, the noise (None for classes), checksums of the
    inputs, and how the posterior was computed: "exact", or each function's R-hat and effective
    sample sizes."""
    train_targets: Float[np.ndarray, "functions train_rows"]
    test_targets: Float[np.ndarray, "functions test_rows"]
    truth: Float[np.ndarray, "functions test_rows outputs"]
    mean: Float[np.ndarray, "functions test_rows outputs"]
    std: Float[np.ndarray, "functions test_rows"]
    excess_risk: Float[np.ndarray, " functions"]
    """Excess of the posterior predictive's risk over the true distribution's risk, in nats."""

    @property
    def name(self) -> str:
        """The name of the family and its file."""
        return self.stated["name"]

    @property
    def classes(self) -> int:
        """The number of classes; 0 for a real target."""
        return self.stated["classes"]

    def __len__(self) -> int:
        return len(self.train_targets)


def home() -> Path:
    """Return the folder of this project's families."""
    return finished_runs.part(NAME)


def write(family: Family, folder: Path) -> Path:
    """Write the family's file atomically and return its path; raises `Refused` for a bad one."""
    check(family)
    arrays = {f.name: getattr(family, f.name) for f in fields(family) if f.name != "stated"}
    arrays = {name: array.astype(np.float64) for name, array in arrays.items()}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, stated=np.array(json.dumps(family.stated)), **arrays)
    path = folder / f"{family.name}.npz"
    write_whole(path, buffer.getvalue())
    return path


def read(name: str, folder: Path) -> Family:
    """Return the family of this name; raises `Refused`, naming cause and file."""
    path = folder / f"{name}.npz"
    try:
        content = read_regular(path)
    except OSError as error:
        present = ", ".join(names(folder)) or "none"
        raise Refused(f"{path}: {error.strerror}; families there: {present}") from error
    try:
        arrays = npz.arrays_of(content, [field.name for field in fields(Family)])
        stated = json.loads(str(arrays.pop("stated")))
        family = Family(stated, **arrays)
    except Exception as error:  # zip, NumPy and JSON raise many kinds of errors
        raise Refused(f"{path}: cannot be read: {error}") from error
    try:
        check(family)
    except Refused as reason:
        raise Refused(f"{path}: {reason}") from reason
    return family


def names(folder: Path) -> list[str]:
    """Return the sorted names of the families in a folder."""
    return sorted(path.stem for path in folder.glob("*.npz"))


def check(family: Family) -> None:
    """Raise `Refused` unless shapes agree, values are finite and the posterior is reliable."""
    stated = family.stated
    if missing := [key for key in KEYS if key not in stated]:
        raise Refused(f"needed {', '.join(KEYS)}; lacks {', '.join(missing)}")
    if stated["format"] != FORMAT:
        raise Refused(f"needed format {FORMAT}; got {stated['format']!r}")
    functions, rows, tests = len(family), stated["inputs"]["rows"], stated["inputs"]["test_rows"]
    outputs = family.classes or 1
    shapes = {
        "train_targets": (functions, rows),
        "test_targets": (functions, tests),
        "truth": (functions, tests, outputs),
        "mean": (functions, tests, outputs),
        "std": (functions, tests),
        "excess_risk": (functions,),
    }
    for name, shape in shapes.items():
        array = getattr(family, name)
        if array.shape != shape:
            raise Refused(f"{name}: needed shape {shape}; got {array.shape}")
        if not np.isfinite(array).all():
            raise Refused(f"{name}: not all values are finite")
    if (family.std <= 0).any():
        raise Refused("std: needed values above 0, since a posterior given noisy targets varies")
    if stated["posterior"] != "exact":
        _check_chains(stated["posterior"], functions)


def _check_chains(posterior: Mapping[str, Any], functions: int) -> None:
    bounds = {"r_hat": LARGEST_R_HAT, "ess_bulk": LEAST_ESS, "ess_tail": LEAST_ESS}
    for name, bound in bounds.items():
        values = np.asarray(posterior[name], float)
        if values.shape != (functions,):
            raise Refused(f"{name}: needed one for each of {functions} functions")
        good = values < bound if name == "r_hat" else values > bound
        if not good.all():
            worst = int(np.argmin(good))
            needed = f"below {bound}" if name == "r_hat" else f"above {bound:g}"
            raise Refused(f"function {worst}: needed {name} {needed}; got {values[worst]:.4g}")


class Refused(ValueError):
    """A family of functions cannot be trusted; the message names file, key and cause."""

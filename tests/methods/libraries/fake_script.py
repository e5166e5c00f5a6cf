"""The script of a library that does not exist: it predicts the targets' mean and variance.

It runs in a separate process, which cannot import this project; some actions misbehave.
"""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from bnnbench.methods.libraries.inside.task import Diverged, Task, Unsupported

DISTRIBUTIONS = ("numpy", "a-package-that-is-missing")


class Posterior:
    """Draws of the mean, around the training targets' mean."""

    def __init__(self, task: Task) -> None:
        self.task, targets = task, task.arrays["targets"]
        self.mean, self.variance = targets.mean(0), targets.var(0)
        self.diagnostics = {"rows": np.float64(len(targets)), "seed": task.seed}
        self.work = {"likelihood_rows": len(targets)}

    def predict(self, inputs: np.ndarray, seed: int) -> dict[str, np.ndarray]:
        deed = self.task.settings["deed"]
        if not len(inputs):
            raise ValueError("a library may refuse to predict no points")
        noise = np.random.default_rng(seed).standard_normal((3, 1, 1))
        means = np.broadcast_to(self.mean + 0.1 * noise, (3, len(inputs), 1)).copy()
        variances = np.broadcast_to(self.variance, means.shape).copy()
        if deed == "other form":
            return {"mean": means}
        if deed == "other points":
            return {"means": means[:, 1:], "variances": variances[:, 1:]}
        if deed == "pickle":
            return {"means": np.array([object()]), "variances": variances}
        if deed == "die in predict":
            sys.exit(7)
        return {"means": means, "variances": variances}


def fit(task: Task) -> Posterior:
    deed, argument = task.settings["deed"], task.settings["argument"]
    task.report(1, 2, 0.5)
    if deed == "raise":
        raise KeyError("a name that the library wanted")
    if deed == "diverge":
        raise Diverged("the chain went away")
    if deed == "refuse":
        raise Unsupported("needed fewer rows; got too many: take some")
    if deed == "crash":
        ctypes.string_at(0)
    if deed == "exit":
        print("I am going now", file=sys.stderr)
        os._exit(3)
    if deed == "chatter":
        print("progress bars of all kinds\n" * 1000)
        os.write(1, b"not through Python, too\n")
    if deed == "import":
        import bnnbench.datasets.base  # noqa: F401
    if deed == "write":
        task.arrays["targets"][:] = 0.0
    if deed == "spend":
        until = time.process_time() + float(argument)
        while time.process_time() < until:
            pass
    if deed == "hold":
        np.ones(int(argument) * 2**17)
    if deed == "linger":
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(argument).write_text(f"{os.getpid()} {other.pid}")
        time.sleep(600)
    if deed == "answer":
        Path(argument).write_text(str(os.getpid()))
    task.report(2, 2, 0.25)
    return Posterior(task)

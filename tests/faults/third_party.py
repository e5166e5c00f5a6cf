"""Third-party methods that spy, write, crash and start processes, for tests of isolation."""

import contextlib
import ctypes
import gc
import json
import multiprocessing
import os
import pickle
import signal
import socket
import stat
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import psutil
import torch
from torch.utils.data import DataLoader, TensorDataset

from bnnbench.datasets.base import Split
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.reading import files
from bnnbench.engine.run.score import Scores
from bnnbench.engine.run.states import Loaded
from bnnbench.methods.predictions.predictive import GaussianPredictive
from tests.suites.fakes import Line


@dataclass(frozen=True)
class Level:
    """Predicts one mean and one variance everywhere, as set by `Foreign.fit`."""

    mean: torch.Tensor
    variance: torch.Tensor
    writes: bool = False

    diagnostics: ClassVar = {}

    def predict(self, inputs, rng):
        if self.writes:
            inputs.numpy()[:] = 0  # the write in predict
        mean = self.mean.expand(1, len(inputs), 1)
        return GaussianPredictive(mean, self.variance.expand_as(mean))


@dataclass(frozen=True)
class Foreign:
    """Does what `deed` says, with `argument`, while it fits."""

    deed: str = ""
    argument: str = ""

    def fit(self, problem, rng):
        targets = problem.train.targets
        level = Level(targets.mean(), targets.var())
        return DEEDS.get(self.deed, lambda *_: level)(level, problem, self.argument)


def write(level, problem, _):
    values = problem.train.inputs.numpy()
    values /= abs(values).max(0)  # the write in fit
    return level


def look_for_test_rows(level, problem, _):
    """Let the mean report the number of visible rows: more than the training rows is a leak."""
    splits = [thing for thing in gc.get_objects() if type(thing) is Split]
    frame, rows = sys._getframe(), [len(split) for split in splits]
    while frame:
        rows += [len(value) for value in frame.f_locals.values() if isinstance(value, Split)]
        rows += [
            len(loaded.first.test)
            for value in frame.f_locals.values()
            if isinstance(value, list)
            for loaded in value
            if isinstance(loaded, Loaded)
        ]
        frame = frame.f_back
    strange = {number for number in rows if number not in (0, len(problem.train))}
    return replace(level, mean=torch.tensor(float(len(strange))), variance=torch.tensor(1e-6))


def replace_exp(level, problem, _):
    """Make a function of torch return other numbers to all later callers."""
    original = torch.exp
    torch.exp = lambda *args, **kwargs: original(*args, **kwargs) * (1 + 1e-6)
    return level


def replace_a_product(level, problem, _):
    """Make a product that no network of the reference fit uses return other numbers."""
    original = torch.Tensor.__matmul__
    torch.Tensor.__matmul__ = lambda a, b: original(a, b) * (1 + 1e-6)
    return level


def replace_a_metric(level, problem, _):
    from bnnbench.metrics import METRICS

    METRICS["rmse"] = replace(METRICS["rmse"], score=lambda *_: torch.zeros(()))
    return level


def replace_and_raise(level, problem, _):
    replace_exp(level, problem, _)
    raise ValueError("its own error")


def load(level, problem, _):
    Line().load(0)
    return level


def find_the_folder(level, problem, _):
    files.folder()
    return level


def crash(level, problem, _):
    ctypes.string_at(0)  # the crash
    return level


def note_the_process(level, problem, file):
    with Path(file).open("a") as pids:
        pids.write(f"{os.getpid()}\n")
    return level


def note_the_sockets(level, problem, file):
    """Note the number of sockets that are open."""
    files = [os.readlink(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")[:-1]]
    Path(file).write_text(str(sum("socket" in name for name in files)))
    return level


def start_processes(level, problem, file):
    """Start one process in this session, one in its own and one orphan; then wait."""
    sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
    here, elsewhere = subprocess.Popen(sleep), subprocess.Popen(sleep, start_new_session=True)
    shell = f"setsid {' '.join(map(repr, sleep))} >/dev/null 2>&1 & echo $!"
    orphan = subprocess.run(shell, shell=True, capture_output=True, text=True, check=True)
    Path(file).write_text(f"{here.pid} {elsewhere.pid} {orphan.stdout}")
    time.sleep(600)
    return level


def have_a_child_hold_memory(level, problem, megabytes):
    code = f"import time; held = b'1' * ({megabytes} << 20); time.sleep(600)"
    subprocess.run([sys.executable, "-c", code], check=True)
    return level


def kill_the_data_server(level, problem, file):
    """Kill the process with the data, and return only in the fourth process that comes here."""
    with Path(file).open("a+") as attempts:
        attempts.write("x")
        attempts.seek(0)
        if len(attempts.read()) <= 3:
            for sibling in psutil.Process(os.getppid()).children():
                if sibling.pid != os.getpid():
                    sibling.kill()
    return level


def stop_itself(level, problem, _):
    os.kill(os.getpid(), signal.SIGSTOP)
    return level


def load_in_a_process(level, problem, _):
    rows = TensorDataset(problem.train.inputs, problem.train.targets)
    loader = DataLoader(rows, batch_size=32, num_workers=1)
    total = sum(float(targets.sum()) for _, targets in loader)
    return replace(level, mean=torch.tensor(total / len(rows)))


def square(number):
    return number**2


def use_a_pool(level, problem, _):
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(square, [3]) == [9]
    return level


def read_a_file(level, problem, file):
    Path(file).read_text()
    return level


def connect(level, problem, port):
    socket.create_connection(("127.0.0.1", int(port))).close()
    return level


class Touch:
    """Makes a file in the process that opens its pickle."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return Path.touch, (Path(self.file),)


def send_everywhere(message):
    """Send a message through every socket of this process."""

    def send(level, problem, file):
        content = message(file)
        for number in range(3, 256):
            with contextlib.suppress(OSError):
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    end = socket.socket(fileno=os.dup(number))
                    end.setblocking(False)
                    end.send(struct.pack(">Q", len(content)) + content)
        time.sleep(0.5)
        return level

    return send


def report(content):
    header = json.dumps([content, []]).encode()
    return lambda _: struct.pack(">Q", len(header)) + header


def ask_for_targets(level, problem, _):
    """Ask whatever leads to the rows for test targets, in every way there is."""
    for rows in [thing for thing in gc.get_objects() if type(thing).__name__ == "ServedRows"]:
        loaded = rows.load(rows._runs)[0]
        split = rows.revealed(loaded, Clean())
        return replace(level, mean=split.targets.mean() + 1000)
    raise AssertionError("no way to the rows was found")


def put_targets_of_frames_into_predictions(level, problem, _):
    return Searching(level.mean, level.variance)


class Searching(Level):
    """Predicts test targets, if they are anywhere in its process: in frames or in memory."""

    def predict(self, inputs, rng):
        found = [
            thing
            for thing in gc.get_objects()
            if type(thing) is Split and len(thing) == len(inputs) and thing.targets.abs().sum() > 0
        ]
        mean = found[0].targets[None] if found else self.mean.expand(1, len(inputs), 1)
        return GaussianPredictive(mean, self.variance.expand_as(mean))


def replace_scoring(level, problem, _):
    """Let every function named `score` in this program give perfect scores."""
    perfect = {"rmse": 0.001, "log_likelihood": 9.0}
    for name, module in list(sys.modules.items()):
        if name.startswith("bnnbench.engine") and hasattr(module, "score"):
            module.score = lambda *_: Scores(perfect, {})
    return level


DEEDS = {
    "write": write,
    "write in predict": lambda level, *_: replace(level, writes=True),
    "look": look_for_test_rows,
    "replace exp": replace_exp,
    "replace and raise": replace_and_raise,
    "replace a metric": replace_a_metric,
    "replace a product": replace_a_product,
    "load": load,
    "folder": find_the_folder,
    "crash": crash,
    "pid": note_the_process,
    "sockets": note_the_sockets,
    "start": start_processes,
    "hold": have_a_child_hold_memory,
    "data_server": kill_the_data_server,
    "stop": stop_itself,
    "loader": load_in_a_process,
    "pool": use_a_pool,
    "read": read_a_file,
    "connect": connect,
    "send a pickle": send_everywhere(lambda file: pickle.dumps(("progress", Touch(file)))),
    "send progress": send_everywhere(report({"event": "progress", "report": 5})),
    "send an error": send_everywhere(
        report({"event": "error", "kind": "DataUnavailable", "text": "stop", "trace": ""})
    ),
    "send results": send_everywhere(report({"event": "done", "records": [], "stored": []})),
    "ask for targets": ask_for_targets,
    "search": put_targets_of_frames_into_predictions,
    "replace scoring": replace_scoring,
}

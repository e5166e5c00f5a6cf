"""The gates before a long fit, cheapest first, each with a sentence on its measurement."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import torch

import bnnbench
from bnnbench.datasets.base import Dataset
from bnnbench.engine.declare.gates import FirstPass, Gates
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.run.measuring.memory import in_words
from bnnbench.engine.run.score import score
from bnnbench.methods.base import Method, Problem

LARGEST_DIFFERENCE = 1e-5
"""Maximum difference of replayed rounds, relative to a layer's largest number."""
LARGEST_SHARE = 0.95
"""Maximum share of the device's memory for a fit."""
CHECKOUT = Path(bnnbench.__file__).resolve().parent.parent
NONE_COLLECTED = 5
"""Exit code of pytest if no test was collected."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a gate."""

    gate: str
    passed: bool | None
    """None if the gate does not apply on this machine."""
    sentence: str


def verdicts(gates: Gates, suite: Suite, device: torch.device) -> Iterator[Verdict]:
    """Yield the outcome of each gate, up to the first that fails."""
    for verdict in _verdicts(gates, suite, device):
        yield verdict
        if verdict.passed is False:
            return


def _verdicts(gates: Gates, suite: Suite, device: torch.device) -> Iterator[Verdict]:
    yield _tests(gates.tests, device)
    for case in suite.cases:
        origin = case.source.origin
        yield Verdict("data", origin != "stand-in", f"{case.name}: {origin}")
        data = case.source.load(0)
        train = data.train.to(device)
        for label in suite.methods:
            method = suite.method_for(case, label)
            network = suite.architecture_for(case, label)
            if isinstance(method, gates.rehearsed):
                problem = Problem(train, data.likelihood, network)
                yield from _rehearsal(gates, label, method, problem)
        yield _first_pass(gates.first_pass, data, Problem(train, data.likelihood, case.network))


def _tests(path: str, device: torch.device) -> Verdict:
    """Run the tests of kernels and graphs on the device."""
    gate = "kernels"
    if device.type == "cpu":
        return Verdict(gate, None, "no GPU: tests of its kernels and graphs were not run")
    if not (CHECKOUT / path).exists():
        return Verdict(gate, False, f"{CHECKOUT / path} is missing: the tests need a clone")
    # Warnings from a dependency's newer version do not fail the tests of kernels.
    arguments = ["-m", "gpu", "-q", "-W", "default", "-p", "no:cacheprovider", str(CHECKOUT / path)]
    command = [sys.executable, "-m", "pytest", *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)
    lines = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
    if done.returncode or " passed" not in lines[-1]:
        reason = "no test" if done.returncode == NONE_COLLECTED else "\n".join(lines[-40:])
        return Verdict(gate, False, f"tests on the device failed: {reason}")
    return Verdict(gate, True, f"tests on the device: {lines[-1].strip('= ')}")


def _rehearsal(gates: Gates, label: str, method: Method, problem: Problem) -> Iterator[Verdict]:
    """Visit a few batches, and compare graphs, minutes and memory with their limits."""
    rehearsal = gates.rehearse(method, problem)
    if rehearsal.difference is None:
        yield Verdict("graphs", None, f"{label}: no graphs here")
    else:
        fine = rehearsal.difference <= LARGEST_DIFFERENCE
        word = "at most" if fine else "more than"
        yield Verdict(
            "graphs",
            fine,
            f"{label}: replayed rounds differ from rounds without graphs by "
            f"{rehearsal.difference:.1e}, {word} the tolerance of {LARGEST_DIFFERENCE:.0e}",
        )
    takes = (
        f"{label}: {rehearsal.steps:,} steps of {1000 * rehearsal.step_seconds:.2f} ms, "
        f"{rehearsal.minutes:.1f} minutes"
    )
    if rehearsal.minutes > gates.minutes:
        yield Verdict(
            "minutes",
            False,
            f"{takes}, more than the limit of {gates.minutes:g} (--fit-minutes): larger groups "
            "have fewer steps, as in --methods 'MP(schedule.size=64)'",
        )
    else:
        yield Verdict("minutes", True, f"{takes} of at most {gates.minutes:g}")
    if not rehearsal.device_bytes:
        yield Verdict("memory", None, f"{label}: not measured on a CPU")
        return
    room = in_words(rehearsal.device_bytes)
    needs = f"{label}: {in_words(rehearsal.peak_bytes)} of the device's {room}"
    fine = rehearsal.peak_bytes <= LARGEST_SHARE * rehearsal.device_bytes
    cure = "" if fine else ", too much: --methods 'MP(on_host=True)' stores messages in host memory"
    yield Verdict("memory", fine, needs + cure)


def _first_pass(known: FirstPass, data: Dataset, problem: Problem) -> Verdict:
    """Fit in one pass over all rows, and compare the scores with those on another machine."""
    gate, device = "first pass", problem.train.inputs.device
    if data.origin != "original":
        rows = f"{len(data.train):,} training rows of origin {data.origin}"
        return Verdict(gate, None, f"{rows}: reference scores exist only for all original rows")
    test = data.test.rows(slice(known.test_rows)).to(device)
    rng = torch.Generator(device).manual_seed(0)
    prediction = known.method.fit(problem, rng).predict(test.inputs, rng)
    scores = score(prediction, test.targets, ("accuracy", "nll")).values
    accuracy, log_loss = scores["accuracy"], scores["nll"]
    fine = (
        abs(accuracy - known.accuracy) <= known.accuracy_within
        and abs(log_loss - known.log_loss) <= known.log_loss_within
    )
    said = (
        f"accuracy {accuracy:.3f} and log loss {log_loss:.3f} after one pass; reference "
        f"{known.accuracy:.3f} ± {known.accuracy_within:g} and "
        f"{known.log_loss:.3f} ± {known.log_loss_within:g}"
    )
    cure = (
        ""
        if fine
        else ", further away than seeds differ: the arithmetic on this machine is different"
    )
    return Verdict(gate, fine, said + cure)

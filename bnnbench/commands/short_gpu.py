"""`bnnbench short-gpu`: unpack data, check gates, then fit until the time is up; repeatable."""

import argparse
import dataclasses
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import torch

from bnnbench import suites
from bnnbench.commands.planning.selection import selected
from bnnbench.commands.running.arguments import Options, parse
from bnnbench.commands.running.gates import Verdict, verdicts
from bnnbench.commands.running.sources import resolved
from bnnbench.commands.terminal.parser import Lenient
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.datasets.reading import packed
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.datasets.reading.whole_files import write_whole
from bnnbench.engine.declare.gates import Gates
from bnnbench.engine.declare.grid import Suite
from bnnbench.engine.run import checkpoints
from bnnbench.engine.run.measuring.provenance import code_of
from bnnbench.engine.store import bundles
from bnnbench.engine.store.store import Store
from bnnbench.engine.workers.base import prepare_process
from bnnbench.methods.checkpoints.files import Damaged as DamagedCheckpoint
from bnnbench.methods.checkpoints.files import Ledger
from bnnbench.suites import SUITES
from bnnbench.wording import UsageError

ABOUT = """Run a paper's profile in short sessions on a machine with a GPU and without a
network. Repeat the same command until it ends with code 0: the data are unpacked from parts
written by `bnnbench data pack`, the gates are passed once, and fits continue after their last
epoch. DIR/back is small and has everything to take away: the outcomes of the gates, and finished
runs as a bundle for `bnnbench site`."""
CODES = """Exit codes: 0 all runs completed or diverged, 2 usage, 3 some runs failed or are missing,
4 repeat the command (the time is up, or parts are missing), 5 a gate failed. All other options are
passed to the suite."""

MISUSED, AGAIN, GATE_FAILED = 2, 4, 5
LAUNCH = (sys.executable, "-m", "bnnbench")
"""Start of a suite's command line."""
FEWEST_SECONDS = 5.0
"""Minimum remaining time to start a suite."""
SECONDS_TO_END = 60.0
FINDINGS = "gates.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    begun = time.monotonic()
    parsed, flags = _parsed(arguments)
    gates = importlib.import_module(f"bnnbench.suites.{parsed.suite}.short_gpu").RENTED
    gates = dataclasses.replace(gates, minutes=parsed.fit_minutes or gates.minutes)
    flags = _flags(parsed, flags, gates)
    options = parse(parsed.suite, SUITES[parsed.suite], flags)
    declared: Mapping[str, Suite] = importlib.import_module(
        f"bnnbench.suites.{parsed.suite}"
    ).SUITES
    back = parsed.out / "back"
    try:
        _unpack(parsed.parts, parsed.out / "data")
        prepare_process()
        options.export()
        suite = resolved(selected(declared[options.profile], options, declared), options)
        if not _may_begin(gates, suite, options, back):
            return GATE_FAILED
    except DataUnavailable as missing:
        print(legible(missing))
        return AGAIN
    except (DataDamaged, UsageError, OSError) as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    code = _carry_out(parsed.suite, flags, begun + 60 * parsed.minutes - time.monotonic())
    store = Store(options.out / suite.name)
    _collect(store, back)
    if code == AGAIN:
        print(f"The time is up{_epochs(store)}. Repeat the same command.")
    return code


def _parsed(arguments: Sequence[str] | None) -> tuple[argparse.Namespace, list[str]]:
    parser = Lenient("bnnbench short-gpu", description=ABOUT, epilog=CODES)
    parser.add_argument("suite", choices=_with_gates(), help="suite to run")
    parser.add_argument(
        "--parts", type=Path, metavar="DIR", required=True, help="folder with the parts of the data"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        required=True,
        help="folder that persists between sessions",
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=9.0,
        help="time limit of this command (default: %(default)s)",
    )
    parser.add_argument(
        "--fit-minutes", type=float, help="maximum time of a fit, extrapolated from its first steps"
    )
    parser.add_argument("--methods", metavar="A,B", help="default: message passing")
    parser.add_argument(
        "--device", choices=("cpu", "cuda"), default="cuda", help="default: %(default)s"
    )
    return parser.parse_known_args(arguments)


def _with_gates() -> list[str]:
    """Return the suites that declare gates in a module `short_gpu`, without importing any."""
    folder = Path(suites.__path__[0])
    return [name for name in SUITES if (folder / name / "short_gpu.py").is_file()]


def _flags(parsed: argparse.Namespace, others: Sequence[str], gates: Gates) -> list[str]:
    """Return the options of the suite's own command line."""
    folders = "--out", str(parsed.out / "results"), "--data-dir", str(parsed.out / "data")
    chosen = "--methods", parsed.methods or ",".join(gates.methods), "--device", parsed.device
    defaults = {"--profile": gates.profile, "--seeds": "1"}
    unsaid = [word for flag in defaults if flag not in others for word in (flag, defaults[flag])]
    return [*folders, *chosen, *unsaid, "--offline", "--no-report", *others]


def _unpack(parts: Path, folder: Path) -> None:
    """Restore the data once. Raises DataUnavailable if a part is missing."""
    paths = sorted(parts.glob(f"*{packed.ENDING}"))
    done = folder / ".unpacked"
    if not done.exists():
        files = packed.read(paths, folder)
        write_whole(done, b"")
        print(f"{len(files)} data files restored unchanged")


def _may_begin(gates: Gates, suite: Suite, options: Options, back: Path) -> bool:
    """Return whether all gates are passed, now or before with the same code and device."""
    device = torch.device(options.device)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
    code = {label: code_of(method).sha256 for label, method in suite.methods.items()}
    asked = [gates.minutes, options.limit, [str(method) for method in suite.methods.values()]]
    identity = json.loads(json.dumps([name, code, asked]))
    if _earlier(back).get("passed") == identity:
        print(f"gates: passed before ({back / FINDINGS})")
        return True
    all_verdicts: list[Verdict] = []
    for verdict in verdicts(gates, suite, device):
        all_verdicts.append(verdict)
        outcomes = {True: "passed", False: "FAILED", None: "not decided"}
        print(f"gate {verdict.gate}, {outcomes[verdict.passed]}: {verdict.sentence}", flush=True)
    fine = all(verdict.passed is not False for verdict in all_verdicts)
    findings = {
        "device": name,
        "passed": identity if fine else None,
        "verdicts": [dataclasses.asdict(verdict) for verdict in all_verdicts],
    }
    write_whole(back / FINDINGS, json.dumps(findings, indent=1).encode())
    if device.type == "cuda":
        torch.cuda.empty_cache()
    if not fine:
        print("No fit was started, so that no time is lost.")
    return fine


def _earlier(back: Path) -> Mapping[str, object]:
    try:
        findings = json.loads((back / FINDINGS).read_text())
    except (OSError, ValueError):
        return {}
    return findings if isinstance(findings, dict) else {}


def _carry_out(suite: str, flags: Sequence[str], seconds: float) -> int:
    """Run the suite's command until it ends or the time is up; return its code, or AGAIN."""
    if seconds < FEWEST_SECONDS:
        return AGAIN
    environment = {checkpoints.SECONDS: "0"} | os.environ
    process = subprocess.Popen([*LAUNCH, suite, *flags], env=environment)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    except KeyboardInterrupt:  # the suite has received it too
        pass
    try:
        process.wait(SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return AGAIN


def _collect(store: Store, back: Path) -> None:
    """Write finished runs and their predictions as a bundle."""
    records, damaged = store.readable()
    for error in damaged:
        print(f"damaged: {legible(error)}", file=sys.stderr)
    if records:
        bundles.write(back, records)
        completed = [record.key for record in records if record.outcome.predictions_sha256]
        bundles.write_predictions(back, {key: partial(store.packed, key) for key in completed})
        print(f"{back}: {len(records)} finished")


def _epochs(store: Store) -> str:
    """Return the saved epochs of unfinished fits, as the end of a clause."""
    done = []
    for folder in sorted((store.folder / checkpoints.FOLDER).glob("*/")):
        try:
            ledger = Ledger.read(folder)
        except DamagedCheckpoint:
            continue
        done += [stage.done for stage in ledger.stages.values()] if ledger else []
    return f"; saved after epoch {' and '.join(map(str, done))}" if done else ""


if __name__ == "__main__":
    sys.exit(main())

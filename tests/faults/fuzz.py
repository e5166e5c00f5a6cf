"""Records, predictions and leases are mutated and sealed again, and every tool reads them.

`python -m tests.faults.fuzz 10000` takes that many mutants; a second number is the seed. No tool
may crash or hang, and each mutant is read as equal or named as damaged.
"""

import contextlib
import copy
import io
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from bnnbench.commands import store as commands
from bnnbench.commands.planning.plan import plan
from bnnbench.commands.report import main as report
from bnnbench.engine.declare.description import digest
from bnnbench.engine.records.record import Record
from bnnbench.engine.records.record_json import from_json, to_json
from bnnbench.engine.store.leases import Leases
from bnnbench.engine.store.store import PREDICTIONS, RECORD, CorruptRecord, Store, sha256
from bnnbench.reports.read.frames import costs, results
from tests.faults.resealed import sealed
from tests.reports.synthetic import record
from tests.suites.miniature import QUICK
from tests.suites.small_store import OUTCOMES

BATCH = 250
"""Mutants per store, since a tool that reads a store reads many at once."""

RMSE = OUTCOMES[0].record.scores["clean"]["rmse"]
SHA256 = sha256(OUTCOMES[0].predictions)

PATH = tuple[Any, ...]

STRANGE: tuple[Any, ...] = (
    *(None, True, 0, -1, 3.5, 2**70, 10**400, 1e308, -0.0, "", "x", "nan", "-inf", "\ud800"),
    *("9999-12-31T00:00:00.000+00:00", "../..", "a\x00b", "<script>", "y" * 20_000, "é\n\t|,"),
    *([], {}, [[]], [None], ["a", 1], {"": None}, {"type": "x"}, {"type": []}, {"\udfff": 1}),
)


def originals(rng: random.Random, count: int) -> Iterator[dict[str, Any]]:
    """Return the fields of valid records, with different keys."""
    attacked = {
        "clean": {"nll": 0.5, "accuracy": 0.9},
        "corrupted_frost_1": {"nll": 0.7, "accuracy": 0.8},
        "corrupted_frost_5": {"nll": 1.7, "accuracy": 0.5},
        "ood_svhn": {"auroc_ood": 0.9},
    }
    claim = {"paper": "000", "table": "1", "departures": ["fewer epochs"], "whole": False}
    target = {"name": "height", "unit": "m", "mean": 5.0, "std": 2.0}
    for number in range(count):
        name = rng.choice(("AdamW", "IVON", "MC dropout"))
        place = {"fold": number % 20, "seed": number // 20}
        kinds = (
            lambda name=name, place=place: record(name, scores=attacked, **place),
            lambda name=name, place=place: record(
                name, "boston", scores={"clean": {"rmse": 2.0}}, suite="uci", target=target, **place
            ),
            lambda name=name, place=place: record(
                name, status="failed", error="Traceback\nno", scores={}, cost=None, **place
            ),
            lambda name=name, place=place: record(name, reproduces=(claim,), **place),
            lambda name=name, place=place: _measured(place),
        )
        fields = json.loads(to_json(rng.choice(kinds)()))
        del fields["sha256"]
        yield fields


def _measured(place: dict[str, int]) -> Record:
    """Return a record of the engine, with predictions."""
    measured = OUTCOMES[0].record
    run = {**measured.run, **place}
    return replace(measured, run=run, key=digest(run), predictions_sha256=SHA256, **place)


def paths(value: Any, start: PATH = ()) -> Iterator[PATH]:
    """Return the path of every part of plain data."""
    items = value.items() if isinstance(value, dict) else ()
    for name, item in [*items, *(enumerate(value) if isinstance(value, list) else ())]:
        yield (*start, name)
        if len(start) < 20:
            yield from paths(item, (*start, name))


def mutate(fields: dict[str, Any], rng: random.Random) -> None:
    """Change one part of a record, and in most cases the key to match if settings changed."""
    path = rng.choice(list(paths(fields)))
    parent = fields
    for step in path[:-1]:
        parent = parent[step]
    match rng.randrange(10):
        case 0:
            del parent[path[-1]]
        case 1:
            parent[path[-1]] = [parent[path[-1]]]
        case 2:
            parent[path[-1]] = {"inner": parent[path[-1]]}
        case 3 if isinstance(parent, dict):
            parent[rng.choice(("new", "", "\udc00", "z" * 20_000, "type"))] = rng.choice(STRANGE)
        case 4:
            for _ in range(rng.choice((10, 100, 300))):
                parent[path[-1]] = [parent[path[-1]]]
        case 5 | 6 | 7:  # of the same type, so that the shape stays
            same = [value for value in STRANGE if type(value) is type(parent[path[-1]])]
            parent[path[-1]] = copy.deepcopy(rng.choice(same or STRANGE))
        case _:
            parent[path[-1]] = copy.deepcopy(rng.choice(STRANGE))


@dataclass
class Tally:
    """Numbers of mutants by outcome."""

    mutants: int = 0
    equal: int = 0
    damaged: int = 0
    hurt_predictions: int = 0
    hurt_claims: int = 0


def fuzz(count: int, seed: int = 0) -> Tally:
    """Mutate this many records; raises AssertionError, or the error of a tool."""
    rng, tally = random.Random(seed), Tally()
    for start in range(0, count, BATCH):
        with tempfile.TemporaryDirectory() as folder:
            _batch(Path(folder), min(BATCH, count - start), rng, tally)
    return tally


def _batch(folder: Path, count: int, rng: random.Random, tally: Tally) -> None:
    store = Store(folder / "results" / "miniature")
    keys = {_keep(store, fields, rng) for fields in originals(rng, count)}
    _hurt_claims(store, rng, tally)
    damaged = {key for key in keys if not _is_equal(store, key)}
    tally.mutants += len(keys)
    tally.damaged += len(damaged)
    tally.equal += len(keys - damaged)
    hurt = _hurt_predictions(store, keys - damaged, rng)
    tally.hurt_predictions += len(hurt)
    _read_by_every_tool(store, folder, damaged, hurt)


def _keep(store: Store, fields: dict[str, Any], rng: random.Random) -> str:
    key = fields["key"]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        mutate(fields, rng)
    if rng.random() < 0.8 and "run" in fields:
        with contextlib.suppress(RecursionError):
            key = fields["key"] = digest(fields["run"])
    (store.runs / key).mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(RecursionError):
        (store.runs / key / RECORD).write_text(sealed(fields))
    if fields.get("predictions_sha256"):
        (store.runs / key / PREDICTIONS).write_bytes(OUTCOMES[0].predictions)
    return key


def _is_equal(store: Store, key: str) -> bool:
    """Return whether a mutant is read correctly; False if it is named as damaged."""
    try:
        found = store.read(key)
    except CorruptRecord as error:
        if str(store.runs / key) not in str(error):
            raise
        return False
    if found is None:
        return False
    told = json.loads((store.runs / key / RECORD).read_text())
    again = json.loads(to_json(found))
    for name in told.keys() - {"sha256", "schema"}:
        assert again[name] == told[name] or name == "cost", (key, name, told[name])
    assert to_json(from_json(to_json(found))) == to_json(found)
    return True


def _hurt_predictions(store: Store, keys: set[str], rng: random.Random) -> set[str]:
    """Alter some predictions, and return the keys of their runs."""
    hurt = set()
    for key in sorted(keys):
        path = store.runs / key / PREDICTIONS
        if path.exists() and store.read(key).predictions_sha256 and rng.random() < 0.3:
            content = bytearray(path.read_bytes())
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            path.write_bytes(content)
            hurt.add(key)
    return hurt


def _hurt_claims(store: Store, rng: random.Random, tally: Tally) -> None:
    folder = store.folder / ".claims"
    with Leases(folder) as leases:
        identity = json.loads(leases.heartbeat.read_text())
    for number in range(10):
        fields: Any = copy.deepcopy(identity)
        mutate(fields, rng)
        text = json.dumps(rng.choice((fields, fields, rng.choice(STRANGE))))
        name = rng.choice((f"{identity['driver']}{number}.driver", f"{number:020x}.claim"))
        (folder / name).write_text(text[: rng.choice((len(text), len(text) // 2))])
        os.utime(folder / name, (0, 0))
        tally.hurt_claims += 1


def _read_by_every_tool(store: Store, folder: Path, damaged: set[str], hurt: set[str]) -> None:
    results_folder, out = store.folder.parent, folder / "out"
    copied = folder / "copy"
    shutil.copytree(results_folder, copied)
    code, told = _said(commands.command, ["verify", "--rescore", str(results_folder)])
    assert code in (0, 1, 3), told
    assert all(str(store.runs / key) in told for key in damaged | hurt | _false(store))
    for command in (
        ["list", str(results_folder)],
        ["list", "--json", str(results_folder)],
        ["gc", "--dry-run", "--superseded", str(results_folder)],
        ["merge", str(results_folder), str(copied), "--out", str(folder / "merged")],
    ):
        code, told = _said(commands.command, command)
        assert code in (0, 1, 3) or "is in use by process" in told, told
    code, told = _said(report, [str(results_folder), "--out", str(out)])
    assert code == (3 if damaged | hurt else 0), told
    named = pd.read_csv(out / "miniature" / "damage.csv")["key"] if damaged | hurt else ()
    assert damaged <= set(named)
    for command in (
        ["compare", str(results_folder), str(copied), "--out", str(out / "compared.html")],
        ["export", str(results_folder), "--format", "csv", "--out", str(out / "scores.csv")],
        ["export", str(results_folder), "--format", "latex", "--out", str(out / "all.tex")],
    ):
        code, told = _said(report, command)
        assert code in (0, 3), told
    code, told = _said(commands.command, ["gc", str(results_folder)])
    assert code in (0, 1, 2, 3), told
    for key in damaged:  # records of the future are left
        shutil.rmtree(store.runs / key, ignore_errors=True)
    assert len(results(results_folder)) >= 0
    assert len(costs(results_folder)) >= 0
    assert plan(QUICK, Store(store.folder), "cpu", writing=False).runs


def _false(store: Store) -> set[str]:
    """Return the keys of runs whose score differs from their predictions', if they have any."""
    found = set()
    for key in store.run_keys():
        with contextlib.suppress(CorruptRecord):
            one = store.read(key)
            told = one.scores.get("clean", {}).get("rmse", RMSE) if one else RMSE
            if one and one.predictions_sha256 == SHA256 and abs(told - RMSE) > 1e-3 * RMSE:
                found.add(key)
    return found


def _said(tool: Any, arguments: list[str]) -> tuple[int, str]:
    """Return a tool's exit code and output."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = tool(arguments)
    return code, said.getvalue()


if __name__ == "__main__":
    begun = time.monotonic()
    numbers = [int(argument) for argument in sys.argv[1:]] or [10_000]
    tally = fuzz(*numbers)
    print(asdict(tally), f"{time.monotonic() - begun:.0f} s")

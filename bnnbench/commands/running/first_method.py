"""The first method of a comparison on a table, refitted to all rows and saved."""

import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bnnbench.commands.running.arguments import Options
from bnnbench.commands.suite import belongs
from bnnbench.datasets.own.table import OwnTable
from bnnbench.datasets.reading import tables
from bnnbench.datasets.reading.columns import column_of
from bnnbench.engine.declare.description import describe
from bnnbench.engine.declare.grid import Run, Suite
from bnnbench.engine.declare.streams import stream
from bnnbench.engine.declare.third_party import third_party_names
from bnnbench.engine.records.record import Record, newest
from bnnbench.engine.run.measuring.provenance import code_of
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt_run
from bnnbench.engine.store.store import Store
from bnnbench.methods import own_files
from bnnbench.methods.base import Method, Posterior, Problem
from bnnbench.methods.networks.architectures import Architecture, modules_in
from bnnbench.methods.saved.errors import NotSaved
from bnnbench.methods.saved.files import is_saved, save
from bnnbench.methods.saved.table_model import TableModel
from bnnbench.methods.tuning.posterior import TunedPosterior
from bnnbench.reports.judge.measures import judged, main_metrics
from bnnbench.reports.read.benchmarks import benchmarks

MODEL = "model"


def saved_model(source: OwnTable, suite: Suite, options: Options) -> Iterator[str]:
    """Refit the first method to all rows and save it; yield lines that say so, or why not.

    Its settings are chosen anew by its search, on all rows.
    """
    out = options.out
    store = Store(out / suite.name)
    records = [r for r in newest(store.readable()[0]) if _is_about(r, source, suite)]
    if (first := first_record(records, options.with_yardsticks)) is None:
        yield "No method is saved: none has been compared."
        return
    if _needs_own_process(first, options):
        yield f"{first.method} is not saved: it has third-party code, which this process does not"
        yield "run. To save it, fit it in Python: bnnbench.save(method.fit(problem, rng), folder)"
        return
    folder = store.folder / source.name / MODEL
    try:
        run = rebuilt_run(first, [*_packages(first.run)])
        rows, described = f"all {len(source.rows())} rows of {source.name}", _described(run)
        if is_saved(folder, described):
            yield f"{run.label} was fitted to {rows} by an equal command: not fitted again."
        else:
            yield f"Fitting {run.label} to {rows}"
            folder.parent.mkdir(parents=True, exist_ok=True)
            model = fitted(source, run.label, run.method, run.architecture)
            save(model, folder, method=described)
    except (NotRepeatable, NotSaved) as error:
        yield f"{first.method} is not saved: {error}"
        return
    factories = [str(module.factory) for module in modules_in(run.architecture)]
    yield from _usage(run.label, folder, list(map(_with_file, factories)))


def first_record(records: list[Record], with_yardsticks: bool = False) -> Record | None:
    """Return a run of the headline's method: the first by the first main metric."""
    (whole, *_) = benchmarks(records) or [None]
    if whole is None:
        return None
    benchmark = replace(whole, with_yardsticks=with_yardsticks).in_headlines
    for metric in main_metrics([benchmark]):
        result = judged(benchmark, metric)
        if result and result.decision.leaders:
            leader = result.decision.leaders[0]
            return next(record for record in records if record.method == leader)
    return None


def fitted(source: OwnTable, label: str, method: Method, network: Architecture) -> TableModel:
    """Return a method fitted to all rows of a table; raises `NotSaved` if the fit fails."""
    preparation, answers, rows = source.preparation(), source.answers(), source.rows()
    targets = answers.values(column_of(rows, answers.name))
    every, one = slice(None), slice(0, 1)
    names, classes = preparation.names, source.classes
    table = tables.split_table(preparation.inputs(rows), targets, every, one, classes, names)
    data = tables.standardised(table, source.target, source.origin, source.licence)
    problem = Problem(data.train, data.likelihood, network, target_zero=data.target_zero)
    try:
        posterior = method.fit(problem, stream("fit all rows", source))
    except (Exception, SystemExit) as error:  # a method may be anyone's
        raise NotSaved(f"its fit to all rows failed ({type(error).__name__}: {error})") from error
    scales = data.scaling, data.target
    return TableModel(_without_others(posterior), preparation, answers, *scales, label, method)


def _described(run: Run) -> dict[str, Any]:
    """Return what determines a fit to all rows: name, method, network, data and foreign code."""
    parts = {key: one for key, one in run.description.items() if key not in ("fold", "seed")}
    return {"label": run.label, "code": code_of(run.method).sha256, **parts}


def _needs_own_process(record: Record, options: Options) -> bool:
    """Return whether a record's run has code that is not to be run in this process."""
    if options.sandbox:
        return bool(third_party_names(record.run))
    # Not so the network: it is the user's own, and `bnnbench predict` runs it in its process, too.
    return bool(third_party_names(record.run["method"])) and not options.in_process


def _without_others(posterior: Posterior) -> Posterior:
    """Return a posterior without the other trials of its search, which do not predict."""
    return replace(posterior, trials={}) if isinstance(posterior, TunedPosterior) else posterior


def _packages(described: object) -> Iterator[str]:
    """Yield the packages of all classes and networks in the description of a run made here."""
    if isinstance(described, Mapping):
        names = (described.get(key) for key in ("type", "factory"))
        yield from (str(name).partition(":")[0].partition(".")[0] for name in names if name)
        described = tuple(described.values())
    for part in described if isinstance(described, list | tuple) else ():
        yield from _packages(part)


def _is_about(record: Record, source: OwnTable, suite: Suite) -> bool:
    return belongs(record, suite, {case.name: describe(source) for case in suite.cases})


def _with_file(factory: str) -> str:
    """Return "file.py:function" for a factory in a file of the user's."""
    place, _, name = factory.partition(":")
    file = Path(getattr(sys.modules.get(place), "__file__", None) or "")
    return f"{os.path.relpath(file)}:{name}" if str(file.parent) in own_files.folders() else factory


def _usage(label: str, folder: Path, networks: Sequence[str]) -> Iterator[str]:
    place = shlex.join([str(folder), *(f"--network={name}" for name in networks)])
    given = "".join(f", {name}={networks!r}" for name in ["networks"] if networks)
    yield f"{label} is saved in {folder}. To predict the rows of a file with the same columns:"
    yield f"    bnnbench predict {place} rows.csv --out predicted.csv"
    yield "or in Python:"
    yield "    import bnnbench"
    yield f"    model = bnnbench.load({str(folder)!r}{given})"
    yield '    print(model.predict(model.read("rows.csv")))'

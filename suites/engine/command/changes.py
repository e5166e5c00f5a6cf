"""What has changed since runs were recorded: their data, their method's file, this project."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.methods.source_code import PROJECT, digest_of
from bnnbench.suites.engine.declare.grid import Run
from bnnbench.suites.engine.run.fingerprint import fingerprint_of_data
from bnnbench.suites.engine.store.record import Record


@dataclass(frozen=True)
class Changes:
    """Keys of finished runs whose data or code is no longer what it was."""

    data: Mapping[str, str]
    """Key → name of the data set."""
    methods: Mapping[str, str]
    """Key → module of a stranger's method."""
    other_code: set[str]
    """Runs by methods of this project."""

    @property
    def outdated(self) -> set[str]:
        """The runs whose results no longer count."""
        return {*self.data, *self.methods}

    def sentences(self, refit: str) -> tuple[str, ...]:
        """Return what to tell whoever repeats the command."""
        lines = [
            f"the data of {name} has changed: {count} runs are fitted again"
            for name, count in Counter(self.data.values()).items()
        ]
        lines += [
            f"{module} has changed: {count} runs are fitted again"
            for module, count in Counter(self.methods.values()).items()
        ]
        if self.other_code and refit == "missing":
            count = len(self.other_code)
            lines.append(f"recorded with other code: {count} runs; --refit changed repeats them")
        return tuple(lines)


def changes_since(finished: Mapping[str, Record], runs: Mapping[str, Run]) -> Changes:
    """Return which finished runs were carried out on other data or by other code.

    Loads each fold that has a finished run. Generated data is its source's code, and is not
    compared: its last digits depend on the processor.
    """
    today: dict[object, str] = {}
    data: dict[str, str] = {}
    methods: dict[str, str] = {}
    other_code: set[str] = set()
    for key, record in finished.items():
        run = runs[key]
        place = run.source, run.fold
        if record.data_sha256 and run.source.origin != "generated":
            if place not in today:
                today[place] = fingerprint_of_data(run.source.load(run.fold))
            if today[place] != record.data_sha256:
                data[key] = run.case.name
        module = type(run.method).__module__
        if record.code_sha256 and record.code_sha256 != digest_of(module):
            if module.partition(".")[0] == PROJECT:
                other_code.add(key)
            else:
                methods[key] = module
    return Changes(data, methods, other_code - data.keys())

"""Changes since runs were recorded: of their data, their method's file, this project."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from bnnbench.engine.declare.grid import Run
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.measuring.fingerprint import fingerprint_of_data
from bnnbench.methods.source_code import classes_of, is_other_code, is_ours, method_digest
from bnnbench.wording import counted


@dataclass(frozen=True)
class Changes:
    """Keys of finished runs whose data or code has changed since they were recorded."""

    data: Mapping[str, str]
    """Key → name of the data set."""
    methods: Mapping[str, str]
    """Key → module of a third-party method."""
    other_code: set[str]
    """Keys of runs by methods of this project whose code has changed."""

    @property
    def outdated(self) -> set[str]:
        """Keys of the runs whose results are no longer valid."""
        return {*self.data, *self.methods}

    def sentences(self, refit: str) -> tuple[str, ...]:
        """Return a message for each kind of change."""
        lines = [
            f"the data of {name} has changed: {counted(count, verb='is')} fitted again"
            for name, count in Counter(self.data.values()).items()
        ]
        lines += [
            f"{module} has changed: {counted(count, verb='is')} fitted again"
            for module, count in Counter(self.methods.values()).items()
        ]
        if self.other_code and refit == "missing":
            count = len(self.other_code)
            runs = counted(count)
            lines.append(f"recorded with other code: {runs}; --refit changed re-runs them")
        return tuple(lines)


def changes_since(finished: Mapping[str, Record], runs: Mapping[str, Run]) -> Changes:
    """Return the finished runs that were made with other data or other code.

    Loads each fold that has a finished run. Generated data is not checked: it is a function of its
    source's code, and its last digits depend on the processor.
    """
    today: dict[object, str] = {}
    data: dict[str, str] = {}
    methods: dict[str, str] = {}
    other_code: set[str] = set()
    for key, record in finished.items():
        run = runs[key]
        source_and_fold = run.source, run.fold
        if record.circumstances.data_sha256 and run.source.origin != "generated":
            if source_and_fold not in today:
                today[source_and_fold] = fingerprint_of_data(run.source.load(run.fold))
            if today[source_and_fold] != record.circumstances.data_sha256:
                data[key] = run.case.name
        if is_other_code(record.circumstances.code_sha256, method_digest(run.method)):
            modules = [each.module for each in classes_of(run.method)]
            if third_party := [name for name in modules if not is_ours(name)]:
                methods[key] = ", ".join(third_party)
            else:
                other_code.add(key)
    return Changes(data, methods, other_code - data.keys())

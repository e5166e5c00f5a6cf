"""A progress bar of all runs, in a terminal or a notebook."""

from collections import Counter
from collections.abc import Sequence

from tqdm import tqdm

from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.declare.grid import Run
from bnnbench.engine.run.task import RunResult, Task


class Bar:
    """Counts finished runs, and shows the latest task and how many runs ended otherwise."""

    def __init__(self, title: str, runs: int) -> None:
        self._bar = tqdm(total=runs, desc=title, unit="run")
        self._statuses: Counter[str] = Counter()

    def __enter__(self) -> "Bar":
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()

    def started(self, task: Task) -> None:
        """Show the task."""
        self._show(task.name)

    def progressed(self, task: Task, done: int, total: int, loss: float) -> None:
        """Show the task's epoch."""
        self._show(f"{task.name}, epoch {done} of {total}")

    def lost(self, task: Task, reason: str) -> None:
        """Print how the runs of a lost process continue."""
        self.note(f"{task.name}: {reason}")

    def passed_over(self, runs: Sequence[Run]) -> None:
        """Count runs that this call does not do."""
        self._bar.update(len(runs))

    def finished(self, task: Task, outcomes: list[RunResult]) -> None:
        """Count the task's runs."""
        self._statuses.update(outcome.record.outcome.status for outcome in outcomes)
        self._bar.update(len(task.runs))
        self._show(task.name)

    def note(self, line: str) -> None:
        """Print a line above the bar."""
        self._bar.write(legible(line), file=self._bar.fp)

    def _show(self, text: str) -> None:
        others = [f"{n} {name}" for name, n in self._statuses.items() if name != "completed"]
        self._bar.set_postfix_str(", ".join([legible(text), *others]), refresh=False)

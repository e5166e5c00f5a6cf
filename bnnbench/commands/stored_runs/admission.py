"""Checks of submitted runs, in the process that decides, which imports none of their code.

A random share of the runs is repeated; the chance to miss forged ones is printed.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from bnnbench.commands.stored_runs import submitted_checks
from bnnbench.commands.stored_runs.headlines import changed_by
from bnnbench.commands.stored_runs.labels_taken import check_label
from bnnbench.commands.stored_runs.rerunning import compared
from bnnbench.commands.stored_runs.submitted import Refused, Submitted
from bnnbench.commands.stored_runs.submitted_data import check_data, check_scores
from bnnbench.datasets.errors import DataDamaged, DataUnavailable
from bnnbench.engine.records.record import Record
from bnnbench.engine.run.sandbox.sandbox import Sandbox
from bnnbench.engine.store.inspection import inspect
from bnnbench.engine.store.rebuilding import NotRepeatable
from bnnbench.engine.store.store import CorruptRecord, Store
from bnnbench.methods.predictions.levels import ceil_of

SHARE = 0.1
"""The share of runs that are re-run; at least one is."""

OF_DATA = "the data of the runs in the bundle"
OF_CODE = "the code of the method and everything it imports from this project"


@dataclass(frozen=True)
class Finding:
    """The outcome of one check."""

    check: str
    problem: str = ""
    """The reason why the check failed; "" if it passed."""


def checked(
    store: Store,
    others: Sequence[Record],
    share: float = SHARE,
    rng: random.Random | None = None,
    sandbox: Sandbox | None = None,
) -> Iterator[Finding]:
    """Yield the outcome of each check of the runs in a store, up to the first problem.

    `others` are the runs of the bundle. The method's files are imported only by processes that are
    started for it: one constructs the method, one scores predictions of its own class, one fits.
    They are in the sandbox, if there is one.
    """
    inspection = inspect(store)
    damage = [f"{f.path.name}: {f.kind}, {f.reason}" for f in inspection.findings]
    yield Finding("checksums and settings", "; ".join(damage[:3]))
    if damage:
        return
    submitted = Submitted(store, tuple(store.records()), store.folder / "code", sandbox)
    checks: Sequence[tuple[str, Callable[[], None]]] = (
        ("names of classes and files", lambda: submitted_checks.names(submitted)),
        ("runs of one method in one profile", lambda: submitted_checks.one_method(submitted)),
        ("exactly the runs of the profile", lambda: submitted_checks.protocol(submitted)),
        ("every score of the profile", lambda: submitted_checks.complete(submitted)),
        ("the label", lambda: check_label(submitted, others)),
        (OF_CODE, lambda: submitted_checks.code(submitted)),
        (
            OF_DATA,
            lambda: submitted_checks.same_data(submitted, others),
        ),
        ("data and targets of this machine", lambda: check_data(submitted)),
        ("scores from predictions", lambda: check_scores(submitted)),
        (
            "the method, constructed in a process of its own",
            lambda: submitted_checks.constructed(submitted),
        ),
    )
    for name, check in checks:
        finding = Finding(name, _problem_of(check))
        yield finding
        if finding.problem:
            return
    yield from _repeated(submitted, others, share, rng or random.SystemRandom())


def _problem_of(check: Callable[[], None]) -> str:
    """Return the reason why a check fails, else ""."""
    try:
        check()
    except (Refused, CorruptRecord, DataUnavailable, DataDamaged) as error:
        return str(error)
    return ""


def _repeated(
    submitted: Submitted, others: Sequence[Record], share: float, rng: random.Random
) -> Iterator[Finding]:
    """Yield the outcome of re-running some of the runs; all, if they change a headline."""
    records = list(submitted.records)
    count = max(1, ceil_of(share, len(records)))
    headlines = changed_by(records, others)
    yield Finding(sentence(len(records), len(records) if headlines else count))
    if headlines:
        more = f" and {len(headlines) - 1} more" * (len(headlines) > 1)
        yield Finding(f"every run is re-run, as a headline would change: {headlines[0]}{more}")
    chosen = records if headlines else rng.sample(records, count)
    for number, record in enumerate(chosen, 1):
        name = f"re-run {number} of {len(chosen)}: {record.dataset}, fold {record.fold}"
        finding = _rerun(submitted, record, f"{name}, seed {record.seed}")
        yield finding
        if finding.problem:
            return


def _rerun(submitted: Submitted, record: Record, name: str) -> Finding:
    try:
        verdict, different = compared(submitted, record)
    except NotRepeatable as error:
        return Finding(name, str(error))
    return Finding(f"{name}, {verdict}", f"{', '.join(different[:3])} differ" * bool(different))


FEW = (1, 2, 5)
"""Numbers of forged runs for which the chance is printed."""


def missed(runs: int, repeated: int, forged: int) -> float:
    r"""Return the probability that no forged run is among those repeated (hypergeometric).

    $$ \binom{N - k}{n} \Big/ \binom{N}{n} $$

    for n of N runs repeated, and k forged.
    """
    return math.comb(runs - forged, repeated) / math.comb(runs, repeated)


def sentence(runs: int, repeated: int) -> str:
    """Return the chances that forged runs pass, in words."""
    if repeated == runs:
        return "chance that re-runs of all runs miss forged runs: 0 %"
    counts = dict.fromkeys(forged for forged in (*FEW, runs) if forged <= runs)
    chances = [f"{_percent(missed(runs, repeated, forged))} for {forged}" for forged in counts]
    listed = ", ".join(chances)
    return f"chance that {repeated} of {runs} re-runs miss forged runs: {listed}"


def _percent(share: float) -> str:
    return "0 %" if share == 0 else "under 1 %" if share < 0.01 else f"{100 * share:.0f} %"

"""`bnnbench check mine.py:Method`: run contract tests for a method on small problems."""

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from bnnbench.commands.terminal.parser import Parser
from bnnbench.datasets.reading.third_party_text import legible
from bnnbench.engine.method_settings.spelling import check_methods
from bnnbench.methods.card import PROBLEMS
from bnnbench.wording import UsageError, counted, listed

if TYPE_CHECKING:
    from bnnbench.suites.check.odd_answers import OddAnswer
    from bnnbench.suites.check.results import Result, Results

KEPT, MISUSED, BROKEN = 0, 2, 3
"""Exit codes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the methods of the command line, print the results, and return the exit code."""
    parser = Parser(
        "bnnbench check",
        description=__doc__,
        epilog="Exit codes: 0 contract fulfilled, 2 usage, 3 contract violated.",
    )
    parser.add_argument(
        "methods",
        nargs="+",
        metavar="METHOD",
        help="file.py:Class, module:Class or a name that `bnnbench methods` lists, optionally with "
        "settings: 'mine.py:Method(epochs=5)'",
    )
    parser.add_argument(
        "--as-given",
        action="store_true",
        help="leave epochs, draws, batch sizes and similar settings as they are; without it, "
        "they are reduced for quick fits",
    )
    options = parser.parse_args(arguments)
    console = Console(highlight=False, markup=False, soft_wrap=True)
    try:
        check_methods(options.methods)
        # imported here because they import torch
        from bnnbench.engine.method_settings.requested import method_of
        from bnnbench.engine.workers.base import prepare_small_fits

        prepare_small_fits()
        methods = {name: method_of(name) for name in options.methods}
    except UsageError as error:
        print(f"error: {legible(error)}", file=sys.stderr)
        return MISUSED
    from bnnbench.suites.check.small import quick

    codes = [
        _check(name, method if options.as_given else quick(method), console)
        for name, method in methods.items()
    ]
    return max(codes)


def _check(name: str, method: Any, console: Console) -> int:
    from bnnbench.engine.method_settings.labels import differences, with_differences
    from bnnbench.suites.check.results import checked

    settings = differences(method) if dataclasses.is_dataclass(method) else {}
    console.print(legible(f"Checks of {with_differences(name.partition('(')[0], settings)}"))
    with console.status("") as status:
        results = checked(method, lambda title: status.update(legible(title)))
    for line in _page(results):
        console.print(legible(line))
    return BROKEN if results.failed or results.faults else KEPT


def _page(results: "Results") -> Iterator[str]:
    """Yield the lines of a page on the checks of a method."""
    yield ""
    for kind in results.taken:
        yield f"takes    {PROBLEMS[kind]}"
    for kind, reason in results.refused.items():
        yield f"refuses  {PROBLEMS[kind]}: {reason}"
    yield ""
    for result in results.checks:
        yield from _lines(result)
    yield ""
    yield from _odd_lines(results.odd)
    failed = len(results.failed)
    carried_out = [result for result in results.checks if not result.reason]
    if failed:
        yield f"The method violates the contract: {failed} of {len(carried_out)} checks failed."
    elif faults := len(results.faults):
        yield f"The method violates the contract: it FAILED on {counted(faults, 'odd problem')}."
    else:
        yield f"The method fulfils the contract: {len(carried_out)} checks passed."


def _odd_lines(answers: "Sequence[OddAnswer]") -> Iterator[str]:
    """Yield a section on odd problems: a line for each, or for each kind if answers differ."""
    if not answers:
        return
    yield "Odd problems:"
    alike: dict[tuple[str, str, str], list[str]] = {}
    for answer in answers:
        state = "FAULT" if answer.state == "fault" else answer.state
        alike.setdefault((answer.problem, state, answer.reason), []).append(answer.kind)
    whole = Counter(problem for problem, *_ in alike)
    for (problem, state, reason), kinds in alike.items():
        where = f" ({listed([PROBLEMS[kind] for kind in kinds])})" if whole[problem] > 1 else ""
        yield f"  {state:7} {problem}{where}{reason and f': {reason}'}"
    yield ""


def _lines(result: "Result") -> Iterator[str]:
    if result.reason:
        yield f"  -       {result.title}: does not apply, {result.reason}"
    elif not result.failures:
        yield f"  passed  {result.title}"
    else:
        yield f"  FAILED  {result.title}"
        for reason, kinds in _by_reason(result.failures).items():
            where = listed([PROBLEMS[kind] for kind in kinds if kind] or [""])
            yield f"            {where + ': ' if where else ''}{reason}"


def _by_reason(failures: Mapping[str, str]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for kind, reason in failures.items():
        kinds.setdefault(reason, []).append(kind)
    return kinds


if __name__ == "__main__":
    sys.exit(main())

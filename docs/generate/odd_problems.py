"""The page on odd problems: what every method answers to them, as `bnnbench check` says.

python -m docs.generate.odd_problems  # writes docs/odd_problems.md, in about two minutes
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bnnbench.methods import METHODS, method_type
from bnnbench.methods.base import PackageMissing
from bnnbench.methods.card import card_of
from bnnbench.suites.check.odd_answers import OddAnswer, odd_answers
from bnnbench.suites.check.odd_problems import ODD
from bnnbench.suites.check.small import quick

PAGE = Path(__file__).parents[1] / "odd_problems.md"

SIGNS = {"fine": "·", "refused": "r", "marked": "m", "fault": "**F**"}
"""State of an answer → its sign in the table."""

INTRODUCTION = """# Odd problems

`bnnbench check` also fits a method to fifteen odd problems, which real data come close to, and says
what it answers. This page has the answers of all methods of this project, with small settings as in
`check`, under which some methods converge on no problem. It is written by
`python -m docs.generate.odd_problems`.

| sign | answer |
| --- | --- |
| · | a prediction with finite numbers of the target's kind, for every row |
| r | a refusal (`Unsupported`), with its reason below |
| m | a mark: inference diverged or did not converge, as tables then say; its reason is below |
| **F** | a fault: another error, or a prediction that is not sound; `check` then exits with 3 |

Two signs are the answers for a regression and for classes, and none stands where a method takes no
such targets. Each problem is an ordinary one of `check` with one thing changed:
"""


def page(answers: Mapping[str, Sequence[OddAnswer] | None]) -> str:
    """Return the page on the answers of methods by name; None if a package is missing here."""
    return "\n".join([INTRODUCTION, *_problems(), "", *_table(answers), "", *_reasons(answers), ""])


def answers_of(name: str) -> list[OddAnswer] | None:
    """Return a registered method's answers; None if its package is missing here."""
    try:
        return list(odd_answers(quick(method_type(METHODS[name])()), card_of(name).problems))
    except PackageMissing:
        return None


def row(name: str, answers: Sequence[OddAnswer] | None) -> str:
    """Return a method's row of the table."""
    if answers is None:
        return f"| {name} |{' ? |' * len(ODD)}"
    cells = ["/".join(_signs(answers, problem)) for problem in ODD]
    return f"| {name} | {' | '.join(cells)} |"


def _signs(answers: Sequence[OddAnswer], problem: str) -> list[str]:
    signs = [SIGNS[answer.state] for answer in answers if answer.problem == problem]
    return signs[:1] if len({*signs}) == 1 else signs


def _problems() -> Iterator[str]:
    yield from (
        f"{place}. {name}: {odd.meaning}" for place, (name, odd) in enumerate(ODD.items(), 1)
    )


def _table(answers: Mapping[str, Sequence[OddAnswer] | None]) -> Iterator[str]:
    yield f"| method | {' | '.join(map(str, range(1, len(ODD) + 1)))} |"
    yield f"| --- |{' :-: |' * len(ODD)}"
    yield from (row(name, of) for name, of in answers.items())
    if any(of is None for of in answers.values()):
        yield "\nA question mark: the method's package is missing where this page was written."


def _reasons(answers: Mapping[str, Sequence[OddAnswer] | None]) -> Iterator[str]:
    """Yield a list of reasons, each with the methods and problems that have it."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for name, of in answers.items():
        for answer in of or ():
            if answer.reason:
                problems = reasons.setdefault(answer.reason, {}).setdefault(name, [])
                problems += [answer.problem] * (answer.problem not in problems)
    yield "## Reasons\n"
    for reason, methods in sorted(reasons.items()):
        places = "; ".join(f"{name} ({', '.join(problems)})" for name, problems in methods.items())
        yield f"- `{' '.join(reason.replace('`', '').split())}`: {places}"


if __name__ == "__main__":
    PAGE.write_text(page({name: answers_of(name) for name in METHODS}), encoding="utf-8")

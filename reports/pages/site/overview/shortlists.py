"""Where no method is best: what running three and keeping the best is worth."""

from bnnbench.reports.judge.over_sets.tables import three_of, winner
from bnnbench.reports.judge.over_sets.worth import Worth
from bnnbench.reports.pages.site.answers import answer_to
from bnnbench.reports.pages.site.overview.asks import Asked
from bnnbench.reports.pages.site.overview.overview import Overview
from bnnbench.reports.style import labels
from bnnbench.reports.style.variants import in_words
from bnnbench.reports.style.words import joined, quoted

GENERAL = "Either fit three methods and keep the one with the best held-out score:"


def shortlists(of: Overview) -> list[str]:
    """Return a sentence for each question over tables, or that nothing is measured yet."""
    tables = [column for column in of.columns if column.ask.group == "Tables"]
    told = [text for column in tables if (text := _told(column))]
    return [GENERAL, *(told or ["Which three, and their regret: not yet measured."])]


def _told(column: Asked) -> str:
    """Return the regret of three methods beside that of the first alone; "" if not measured."""
    if column.task is None:
        return ""
    worth = answer_to(column.task, column.task.scales[0].name).worth
    return _compared(column.ask.head, worth) if worth else ""


def _compared(name: str, worth: Worth) -> str:
    three, first = three_of(worth.outcomes), worth.outcomes[0]
    if three is None:
        return ""
    names, alone = (joined([quoted(in_words(m)) for m in of.members]) for of in (three, first))
    times = three.seconds / first.seconds
    regret = "{:.2f} ({:.2f} to {:.2f})".format(*three.regret)
    text = (
        f"{name}: with {names}, {regret} of the way from a constant prediction to the best method "
        f"are lost, with {alone} alone {first.regret.value:.2f}; three cost {times:.1f} times as "
        "much"
    )
    shown = "" if winner(worth.outcomes) else " The difference is not shown to be more than chance."
    return labels.sentence(f"{text}.{shown}")

"""What the board's advice on a question is worth on a data set that it has not seen."""

from bnnbench.reports.judge.over_sets.worth import Worth, worth_of_league
from bnnbench.reports.pages.site.leagues import facts_of, held_out_of, league_of
from bnnbench.reports.pages.site.tasks import Task


def worth_of(task: Task, criterion: str, networks: bool = False) -> Worth | None:
    """Return the worth of advice; None without a decision over data sets.

    Searches score held-out rows by likelihood, so only by likelihood there are shortlists.
    """
    league = league_of(task, criterion, networks=networks)
    if league is None:
        return None
    held_out = held_out_of(task, league) if criterion == "likelihood" else ()
    return worth_of_league(league, held_out, facts_of(task))

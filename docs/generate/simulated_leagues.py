"""The decision over data sets on simulated leagues: `python -m docs.generate.simulated_leagues`.

Writes docs/bundle/leagues/simulated_leagues.csv: how often a truly best method is called worse,
the share of inferior methods that are found, and the grades, for several procedures. It takes some
minutes of processor time; a number of repetitions as argument shortens it.
"""

import sys
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from numpy import ndarray
from scipy import stats

from bnnbench.metrics.statistics import holm
from bnnbench.reports.judge.over_sets.flips import adjusted
from bnnbench.reports.judge.over_sets.grades import grade
from bnnbench.reports.judge.over_sets.league import League
from bnnbench.reports.judge.over_sets.policies import mean_gains
from bnnbench.reports.judge.over_sets.verdict import evidence
from bnnbench.reports.judge.statistics.elimination import Errors, eliminated, worse_p
from bnnbench.reports.judge.statistics.moderation import LEVEL
from docs.generate.finished_runs import BUNDLE
from docs.generate.leagues import Population, populations

FILE = BUNDLE / "leagues" / "simulated_leagues.csv"
REPETITIONS, DRAWS, SETS = 600, 999, (20, 25)
HEADLINE = "shares and ranks; flips"
"""The procedure of the board."""
GRADES = ("best", "leads", "not shown to be best", "not decided")


def main() -> None:
    """Write the simulation's rates."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else REPETITIONS
    FILE.parent.mkdir(exist_ok=True)
    pd.DataFrame(rows(repetitions)).to_csv(FILE, index=False)


def rows(repetitions: int) -> Iterator[dict[str, object]]:
    """Yield a row for each population, number of sets and procedure."""
    for population in populations():
        for sets in SETS:
            yield from rates(population, sets, repetitions)


def rates(population: Population, sets: int, repetitions: int) -> Iterator[dict[str, object]]:
    """Yield the rates of every procedure, with new leagues and new flips in each repetition."""
    rng = np.random.default_rng([sets, len(population.name)])
    false: dict[str, list[bool]] = {}
    power: dict[str, list[float]] = {}
    graded: list[tuple[str, bool]] = []
    for repetition in range(repetitions):
        of = population.draw(rng, sets)
        p_values = procedures(of, stream=100 + repetition)
        for name, p in p_values.items():
            called = p <= LEVEL
            false.setdefault(name, []).append(bool((called & population.best).any()))
            if not population.best.all():
                power.setdefault(name, []).append(float(called[~population.best].mean()))
        facts = evidence(of, p_values[HEADLINE])
        is_true = bool(population.best[of.methods.index(facts.first)])
        graded.append((grade(facts), is_true))
    for name, errors in false.items():
        rate = float(np.mean(errors))
        yield {
            "population": population.name,
            "sets": sets,
            "procedure": name,
            "a best one called worse": f"{rate:.3f}",
            "standard error": f"{np.sqrt(max(rate, 0.01) * (1 - rate) / repetitions):.3f}",
            "inferior ones found": f"{np.mean(power[name]):.2f}" if name in power else "",
            **(_grades(graded) if name == HEADLINE else dict.fromkeys(GRADES, "")),
            "repetitions": repetitions,
        }


def procedures(of: League, stream: int) -> Mapping[str, Float[ndarray, " methods"]]:
    """Return procedure → adjusted p-values of being worse; 1 for its leader."""
    u, ranks, nats = of.shares.u, of.shares.ranks, mean_gains(of)
    by_u, by_ranks = adjusted(u, DRAWS, stream), adjusted(ranks, DRAWS, stream)
    return {
        HEADLINE: _spared(np.maximum(by_u, by_ranks), u),
        "shares; flips": _spared(by_u, u),
        "ranks; flips": _spared(by_ranks, ranks),
        "nats; flips": _spared(adjusted(nats, DRAWS, stream), nats),
        "nats; paired t with k (k - 1)": _spared(_by_t(nats), nats),
        "shares; Holm against the leader": _against_leader(u),
    }


def _spared(p: ndarray, y: ndarray) -> Float[ndarray, " methods"]:
    """Return the p-values, without the leader's: it is never called worse."""
    return np.where(np.arange(len(p)) == y.sum(1).argmax(), 1.0, p)


def _by_t(y: Float[ndarray, "methods sets"]) -> Float[ndarray, " methods"]:
    d = y[None] - y[:, None]
    sets = y.shape[1]
    errors = Errors(d.mean(2), d.var(2, ddof=1) / sets, np.full(d.shape[:2], sets - 1.0))
    return eliminated(worse_p(errors))


def _against_leader(y: Float[ndarray, "methods sets"]) -> Float[ndarray, " methods"]:
    lead = int(y.sum(1).argmax())
    rivals: Bool[ndarray, " methods"] = np.arange(len(y)) != lead
    p = np.ones(len(y))
    t = stats.ttest_rel(np.broadcast_to(y[lead], y[rivals].shape), y[rivals], axis=1)
    p[rivals] = holm(np.nan_to_num(np.asarray(t.pvalue), nan=1.0) / 2)
    return p


def _grades(graded: list[tuple[str, bool]]) -> dict[str, str]:
    """Return grade → its share of leagues, and the share in which another method is truly best."""
    return {
        name: f"{np.mean([g == name for g, _ in graded]):.3f}"
        + f" / {np.mean([g == name and not true for g, true in graded]):.3f}"
        for name in GRADES
    }


if __name__ == "__main__":
    main()

"""How likely forged runs are to be missed by re-runs of a random share."""

import math

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

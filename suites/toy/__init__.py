"""One input, one output: predictions against the exact posterior, depth, coverage far away.

Cubics (profiles quick and paper): the truth is approximated by Hamiltonian Monte Carlo with a vague
prior on the noise, "HMC vague". Every method has its own prior and noise model, and its distance
includes the difference; "HMC" is the exact posterior of the model that PBP approximates. Profile
gap shows the accuracy of ten draws of "HMC vague", by themselves and with a box around them, and
the trajectory of SGD.

Sines with known noise: networks of 2 to 6 linear layers on the same rows (profile depth), and how
often the intervals of many networks contain the truth 10 to 20 away from the data (profiles
coverage, coverage_paper and coverage_by_position).
"""

from bnnbench.suites.toy.coverage import BY_POSITION, COVERAGE, COVERAGE_PAPER
from bnnbench.suites.toy.cubics import GAP, PAPER, QUICK
from bnnbench.suites.toy.depth import DEPTH

SUITES = {
    "quick": QUICK,
    "paper": PAPER,
    "gap": GAP,
    "depth": DEPTH,
    "coverage": COVERAGE,
    "coverage_paper": COVERAGE_PAPER,
    "coverage_by_position": BY_POSITION,
}

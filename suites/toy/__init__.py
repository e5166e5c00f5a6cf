"""One input, one output: predictions against the exact posterior, depth, coverage far away.

Cubics (profiles quick and paper): Hamiltonian Monte Carlo stands for the truth, with a vague
prior on the noise: "HMC vague". All methods have priors and noise models of their own, and their
distances contain the difference; "HMC" is the exact posterior of the model that PBP approximates.
How far ten of its draws lead, alone and with a box around them, and what the trajectory of SGD
says: profile gap.

Sines of known noise: networks of 2 to 6 linear layers on the same rows (profile depth), and how
often the intervals of many networks contain the truth 10 to 20 away from the data (profiles
coverage and coverage_paper).
"""

from bnnbench.suites.toy.coverage import COVERAGE, COVERAGE_PAPER
from bnnbench.suites.toy.cubics import PAPER, QUICK
from bnnbench.suites.toy.depth import DEPTH
from bnnbench.suites.toy.gap import GAP

SUITES = {
    "quick": QUICK,
    "paper": PAPER,
    "gap": GAP,
    "depth": DEPTH,
    "coverage": COVERAGE,
    "coverage_paper": COVERAGE_PAPER,
}

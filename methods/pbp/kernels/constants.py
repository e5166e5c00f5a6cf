"""Constants of the compiled filter and the plain one.

They are here, and not there: a change of a constant must change the kernels' package.
"""

import math

SMALLEST_VARIANCE = 1e-100
"""Below it, the update of a weight is rejected."""
LARGEST_CAVITY_VARIANCE = 1e6
"""Above it, the refinement of a prior factor is skipped."""

REJECTED_UPDATES = 0
"""Updates of a weight that would have left it no positive variance."""
SKIPPED_REFINEMENTS = 1
"""Refinements of a prior factor without a proper cavity."""
KEPT_NOISE_UPDATES = 2
"""Updates of a noise precision that would have left it improper."""
LOGIT_NOISE_VARIANCE = 4 / math.pi
"""Variance of the noise on each logit whose largest is the label: see methods/pbp/multinomial.py.
"""

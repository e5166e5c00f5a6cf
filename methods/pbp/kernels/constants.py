"""Constants of the compiled and the reference filter.

They are in the kernels' package because changing a constant must change that package.
"""

import math

SMALLEST_VARIANCE = 1e-100
"""Below this, the update of a weight is rejected."""
LARGEST_CAVITY_VARIANCE = 1e6
"""Above this, the refinement of a prior factor is skipped."""

REJECTED_UPDATES = 0
"""Updates that would have left a weight without a positive variance."""
SKIPPED_REFINEMENTS = 1
"""Refinements of a prior factor without a proper cavity."""
KEPT_NOISE_UPDATES = 2
"""Updates that would have made a noise precision improper."""
LOGIT_NOISE_VARIANCE = 4 / math.pi
"""Variance of the noise on each logit; the largest noisy logit is the label (multinomial.py).
"""

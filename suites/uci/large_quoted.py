"""Profile paper_002_large_quoted: large sets with the settings of the numbers paper 002 quotes."""

from dataclasses import replace

from bnnbench.methods.ciber.collapse import SecondLayer
from bnnbench.methods.ciber.method import NEAREST, Ciber
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.last_iterate import LastIterate
from bnnbench.methods.trajectory.one_descent import OneDescent
from bnnbench.methods.trajectory.pca_slices import PcaSlices
from bnnbench.methods.trajectory.pca_vi import PcaVi
from bnnbench.methods.trajectory.schedules import Plateau
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.suites.following import following
from bnnbench.suites.uci.large import PAPER_002_LARGE
from bnnbench.suites.uci.paper_002_quoted import FLOOR

# The published settings of subspace inference (Izmailov et al., 2019): a constant rate, which SWAG,
# PCA+ESS and PCA+VI double for biases and SGD does not; the epochs before the first recorded
# iterate; the temperatures of slices and VI, and the prior deviation of VI.
ORDINARY = Descent(
    1e-3, weight_decay=1e-4, epochs=200, batch_size=200, start=0.4, bias_rate=2.0
)  # fmt: skip
KEGG = replace(ORDINARY, batch_size=400, start=0.8)
SKILLCRAFT = replace(KEGG, epochs=100)
SETS = (
    ("elevators", ORDINARY, 2e4, 1.5e4, 2.0),
    ("keggdirected", KEGG, 1e4, 1e4, 1.0),
    ("keggundirected", KEGG, 1e4, 1e4, 1.0),
    ("pol", ORDINARY, 5e3, 5e3, 1.0),
    ("protein", ORDINARY, 1e4, 1e4, 1.0),
    ("skillcraft", SKILLCRAFT, 1e4, 1e4, 1.0),
)
# One descent for the rows of iterates, one for SGD.
QUOTED = {
    name: {
        "SGD": LastIterate(replace(descent, bias_rate=1.0)),
        "SWAG": OneDescent(descent, Swag(descent), gaussian=True),
        "SWAG (mixture)": OneDescent(descent, Swag(descent)),
        "PCA+ESS (SI)": OneDescent(
            descent, PcaSlices(descent, temperature=of_slices), gaussian=True
        ),
        "PCA+ESS (mixture)": OneDescent(descent, PcaSlices(descent, temperature=of_slices)),
        "PCA+VI (SI)": OneDescent(
            descent, PcaVi(descent, temperature=of_vi, prior_std=prior_std), gaussian=True
        ),
        "PCA+VI (mixture)": OneDescent(
            descent, PcaVi(descent, temperature=of_vi, prior_std=prior_std)
        ),
    }
    for name, descent, of_slices, of_vi, prior_std in SETS
}  # fmt: skip

# CIBER by the descent of its public code, whose weights begin by Xavier's rule, at the rate and
# weight decay above: a grid for each split would take days.
DESCENTS = {
    name: Ciber(
        replace(
            descent, start=0.0, initialisation="xavier", schedule=Plateau(0.8, 40, early_stop=True)
        ),
        bounds="minmax", ratio=NEAREST, floor_range="scored",
    )
    for name, descent, _, _, _ in SETS
}  # fmt: skip
COLLAPSED = {
    name: {
        "CIBER (last)": ciber,
        "CIBER (second)": replace(ciber, collapse=SecondLayer()),
        "CIBER (last, training range)": replace(ciber, floor_range="training"),
        "CIBER (no box)": replace(ciber, prediction="no_box"),
        "Iterates": replace(ciber, prediction="iterates"),
    }
    for name, ciber in DESCENTS.items()
}
ROWS = {name: QUOTED[name] | COLLAPSED[name] for name in QUOTED}
PAPER_002_LARGE_QUOTED = replace(
    PAPER_002_LARGE,
    profile="paper_002_large_quoted",
    title="Larger UCI sets: the trajectory of SGD, each set with its published settings",
    methods=ROWS["elevators"],
    own_settings=ROWS,
    optional_methods=(),
    folds=3,
    reproduces=following(
        "uci/paper_002_large_quoted", "002", ("2", "6"),
        "the first three of the ten splits published with the data",
        "standardised with statistics of the training rows, not of all rows",
        FLOOR,
    ),
)  # fmt: skip

"""Profiles large and large_faster: descents of deeper networks on the large sets."""

from dataclasses import replace

from bnnbench.datasets.cuts.held_out import HeldOut
from bnnbench.datasets.official.uci_large import UciLarge
from bnnbench.engine.declare.case import cases_of
from bnnbench.methods.ciber.method import Ciber
from bnnbench.methods.networks.catalogue import mlp
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.suites.searches.uci.small_sets import SEARCH

# The large sets of paper 002, with networks of its depth but a tenth of its width. SWAG and CIBER
# share one descent, which must suit both.
SLOWER = {
    f"lr={rate:g} low={low:g} epochs=20": Descent(
        rate, weight_decay=1e-4, epochs=20, batch_size=200, schedule=HighThenLow(low)
    )
    for rate in (1e-3, 2e-3, 3e-3)
    for low in (0.3, 1.0)
}
FASTER = {
    f"lr={rate:g} low={low:g} epochs=40": Descent(
        rate, weight_decay=1e-4, epochs=40, batch_size=200, schedule=HighThenLow(low)
    )
    for rate in (5e-3, 1e-2)
    for low in (0.1, 0.3)
}
DEEP = mlp([100, 100, 50], outputs=1)
LARGE = replace(
    SEARCH,
    profile="large",
    cases=cases_of(
        (
            HeldOut(UciLarge("elevators")), HeldOut(UciLarge("keggdirected")),
            HeldOut(UciLarge("keggundirected")), HeldOut(UciLarge("pol")),
            HeldOut(UciLarge("protein")), HeldOut(UciLarge("skillcraft")),
        ),
        DEEP,
    ),
    methods={f"SWAG {label}": Swag(descent) for label, descent in SLOWER.items()}
    | {f"CIBER {label}": Ciber(descent) for label, descent in SLOWER.items()},
    folds=1,
)  # fmt: skip
# On the kegg sets these diverge.
LARGE_FASTER = replace(
    LARGE,
    profile="large_faster",
    cases=cases_of(
        (
            HeldOut(UciLarge("elevators")), HeldOut(UciLarge("pol")),
            HeldOut(UciLarge("protein")), HeldOut(UciLarge("skillcraft")),
        ),
        DEEP,
    ),
    methods={f"SWAG {label}": Swag(descent) for label, descent in FASTER.items()}
    | {f"CIBER {label}": Ciber(descent) for label, descent in FASTER.items()},
)  # fmt: skip

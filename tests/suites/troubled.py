"""A suite whose runs need too much, except one: `python -m tests.suites.troubled`."""

from bnnbench.commands.suite import main
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from tests.suites.fakes import Fragile, Hungry, Line, Mean, Slow

SUITES = {
    "quick": Suite(
        name="troubled",
        title="Trouble",
        profile="quick",
        cases=(Case(Line(), ()),),
        methods={
            "Killed": Fragile(most=-1e9),
            "Endless": Slow(seconds=600.0),
            "Hungry": Hungry(2**30),
            "Mean": Mean(),
        },
        evaluations=(Evaluation(Clean(), ("rmse",)),),
    )
}

if __name__ == "__main__":
    main(SUITES)

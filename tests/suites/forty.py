"""A suite of 40 short runs on stand-in data: `python -m tests.suites.forty`."""

from bnnbench.commands.suite import main
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Suite
from tests.suites.fakes import Elsewhere, Mean, Slow, Together

SUITES = {
    "quick": Suite(
        name="forty",
        title="Forty runs",
        profile="quick",
        cases=(Case(Elsewhere(), ()),),
        methods={"Mean": Mean(), "Slow": Slow(0.3), "Slower": Slow(0.6), "Together": Together()},
        evaluations=(Evaluation(Clean(), ("rmse", "log_likelihood")),),
        folds=2,
        seeds=5,
        fitted_together=2,
    )
}

if __name__ == "__main__":
    main(SUITES)

"""A suite that takes seconds: `python -m tests.suites.miniature`."""

from bnnbench.commands.suite import main
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.engine.declare.grid import Evaluation, Suite
from tests.suites.fakes import Elsewhere, Line, Mean, Slow, Together

QUICK = Suite(
    name="miniature",
    title="Lines",
    profile="quick",
    cases=(Case(Line(), ()),),
    methods={"Mean": Mean(), "Slow": Slow(), "Together": Together()},
    evaluations=(Evaluation(Clean(), ("rmse", "log_likelihood")),),
    folds=2,
)
PAPER = Suite(
    name="miniature",
    title="Lines",
    profile="paper",
    cases=cases_of((Line(), Elsewhere()), ()),
    methods={"Slow": Slow(seconds=0.6)},
    evaluations=(Evaluation(Clean(), ("rmse",)),),
    folds=4,
)

SUITES = {"quick": QUICK, "paper": PAPER}

if __name__ == "__main__":
    main(SUITES)

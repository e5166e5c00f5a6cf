"""Profiles with settings chosen on held-out training rows: a league, and its ablations."""

from dataclasses import replace

from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.official.uci import Uci
from bnnbench.engine.declare.case import Case, cases_of
from bnnbench.engine.declare.grid import Evaluation, Suite
from bnnbench.methods.message_passing.informed import InformedPrior
from bnnbench.methods.tuning.method import Noise, Tuned
from bnnbench.metrics import JOINT_REGRESSION, REGRESSION, SCORES_OF_TABLES
from bnnbench.suites.uci.settings import METHODS, NETWORK, WIDE

# The noise of a point estimate comes from held-out rows; a posterior that integrates over weights
# given a learned noise keeps its own. The league also has two of these with held-out noise.
OWN_NOISE: dict[str, Noise] = dict.fromkeys(("MFVI", "VSD", "IVON", "KFAC"), "own")

NOISES: dict[str, Noise] = {"own noise": "own", "held-out noise": "held_out"}

# A fit of message passing takes minutes: four trials, one block.
MP = Tuned(METHODS["MP"], 4, 1, lengths=(12, 25, 50))
INFORMED = replace(MP, method=replace(METHODS["MP"], prior=InformedPrior()))
PASSED = {"MP": MP, "MP informed": INFORMED}
SMALL = (Uci("boston"), Uci("concrete"), Uci("energy"), Uci("wine_red"), Uci("yacht"))

TUNED_QUICK = Suite(
    name="uci",
    title="UCI regression with equal tuning: error, likelihood and intervals of small networks",
    profile="tuned_quick",
    cases=cases_of(SMALL, NETWORK),
    methods={
        label: Tuned(method, 8, updates=3_000, noise=OWN_NOISE.get(label, "held_out"))
        for label, method in METHODS.items()
    }
    | PASSED,
    evaluations=(Evaluation(Clean(), (*REGRESSION, *SCORES_OF_TABLES, *JOINT_REGRESSION)),),
    folds=5,
    seeds=3,
    fitted_together=15,
)

# Twenty folds. Sixteen trials at the shortest length and the better half of them at each longer one
# cost less than eight at every length; only the chosen one is refitted.
HALVED = {
    label: Tuned(method, 16, updates=8_000, noise=OWN_NOISE.get(label, "held_out"), halving=True)
    for label, method in METHODS.items()
} | {
    label: replace(method, trials=8, halving=True) for label, method in PASSED.items()
}  # fmt: skip
HELD_OUT = {
    f"{label} (held-out noise)": replace(HALVED[label], noise="held_out")
    for label in ("MFVI", "IVON")
}
LEAGUE = replace(
    TUNED_QUICK,
    profile="league",
    methods=HALVED | HELD_OUT,
    folds=20,
    fitted_together=60,
)

# The same search on larger sets, whose fits take longer.
LEAGUE_LARGE = replace(
    LEAGUE,
    profile="league_large",
    cases=cases_of((Uci("kin8nm"), Uci("naval"), Uci("power")), NETWORK),
    folds=5,
    seeds=1,
    fitted_together=5,
)

TUNED = replace(
    TUNED_QUICK,
    profile="tuned",
    cases=(
        *cases_of((*SMALL, Uci("kin8nm"), Uci("naval"), Uci("power")), NETWORK),
        Case(Uci("protein"), WIDE),
    ),
    methods={
        label: Tuned(method, 16, noise=OWN_NOISE.get(label, "held_out"))
        for label, method in METHODS.items()
    }
    | PASSED,
    folds=20,
)

# Ablation: the noise that a method learns in training compared with the noise of held-out rows.
TUNED_NOISE = replace(
    TUNED,
    profile="tuned_noise",
    cases=cases_of((Uci("boston"), Uci("energy"), Uci("yacht")), NETWORK),
    methods={
        f"{label} ({noise_name})": Tuned(METHODS[label], 16, noise=noise)
        for label in ("AdamW", "IVON", "MFVI")
        for noise_name, noise in NOISES.items()
    },
    folds=10,
)

# Ablation: three of five blocks held out in turn, as in the league, compared with all five.
TUNED_BLOCKS = replace(
    LEAGUE,
    profile="tuned_blocks",
    methods={
        f"{label} ({blocks} blocks)": replace(HALVED[label], blocks=blocks)
        for label in ("AdamW", "IVON", "MFVI")
        for blocks in (3, 5)
    },
    folds=10,
    fitted_together=30,
)

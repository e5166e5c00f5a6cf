"""The treatments of a trained network, and which of them can be applied to it."""

from collections.abc import Iterator, Mapping

from bnnbench.datasets.own.table import Task
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.base import Method
from bnnbench.methods.given import Given
from bnnbench.methods.hmc.method import Hmc
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.laplace.kfac import Kfac
from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.laplace.structures import Diagonal, Full, Subnetwork
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.networks.architectures import Architecture
from bnnbench.methods.networks.heteroscedastic import states_variance
from bnnbench.methods.neural_linear import NeuralLinear
from bnnbench.methods.post_hoc.checkpoints import Checkpoints
from bnnbench.methods.post_hoc.conformal import Conformal
from bnnbench.methods.post_hoc.guarded import Guarded
from bnnbench.methods.post_hoc.on_last_layer import OnLastLayer
from bnnbench.methods.post_hoc.rescaled import Rescaled
from bnnbench.methods.post_hoc.tempered import Tempered
from bnnbench.methods.trajectory.collector import Descent
from bnnbench.methods.trajectory.cyclical_sgld import CyclicalSgld
from bnnbench.methods.trajectory.schedules import HighThenLow
from bnnbench.methods.trajectory.sgld import Sgld
from bnnbench.methods.trajectory.swa import Swa
from bnnbench.methods.trajectory.swag import Swag
from bnnbench.methods.tuning.method import Noise, Tuned
from bnnbench.methods.tuning.space import space_of
from bnnbench.methods.vbll.method import Vbll

GIVEN = "Given network"
EVIDENCE = " (evidence)"
"""Suffix of a label whose prior precision maximises the evidence of rows that the network saw."""
TRIALS, EPOCHS, DRAWS = 4, 6, 16
PRECISIONS = (0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0, 10_000.0)
DESCENT = Descent(schedule=HighThenLow(), heteroscedastic=False, start=0.34)

QUICK = (
    *(GIVEN, "Temperature", "Variance factor", "Conformal"),
    *("Laplace last layer (evidence)", "Laplace last layer", "Neural linear", "HMC last layer"),
    *("MC dropout untrained", "MC dropout", "AdamW continued", "SWAG", "IVON", "MFVI", "SGLD"),
    *("Ensemble", "Ensemble corrected"),
)


def treatments(task: Task, network: Architecture) -> Mapping[str, Method]:
    """Return label → treatment.

    Further training chooses a regression's noise by calibration rows, unless the network gives
    variances; it chooses no temperature, which is a treatment of its own.
    """
    one_noise = task == "regression" and not states_variance(network)
    noise: Noise = "held_out" if one_noise else "own"
    return dict([*_by_calibration(task), *_laplace(), *_last_layer(task), *_continued(noise)])


def ensembles(task: Task, checkpoints: tuple[str, ...]) -> dict[str, Method]:
    """Return label → treatment of several trained networks; empty for one file."""
    if len(checkpoints) < 2:
        return {}
    mixture = Checkpoints(checkpoints)
    corrected = Tempered(mixture) if task == "classification" else Rescaled(mixture)
    return {"Ensemble": mixture, "Ensemble corrected": corrected}


def _by_calibration(task: Task) -> Iterator[tuple[str, Method]]:
    yield GIVEN, Given()
    if task == "classification":
        yield "Temperature", Tempered(Given())
    else:
        yield "Variance factor", Rescaled(Given())
    yield "Conformal", Conformal(Given())


def _laplace() -> Iterator[tuple[str, Method]]:
    structures = {
        "last layer": Full("last"),
        "KFAC": Kfac(),
        "diagonal": Diagonal(),
        "subnetwork": Subnetwork(200),
    }
    for name, structure in structures.items():
        plain = Laplace(Given(), structure)
        yield f"Laplace {name}{EVIDENCE}", plain
        yield f"Laplace {name}", Guarded(Laplace(Given(), structure, PRECISIONS))


def _last_layer(task: Task) -> Iterator[tuple[str, Method]]:
    if task == "regression":
        yield "Neural linear", OnLastLayer(NeuralLinear(Given()))
    yield "HMC last layer", Guarded(OnLastLayer(Hmc(warmup=200, draws=200)))
    yield "VBLL last layer", Guarded(OnLastLayer(Vbll(exact=True)))


def _continued(noise: Noise) -> Iterator[tuple[str, Method]]:
    methods: dict[str, Method] = {
        "MC dropout": McDropout(draws=DRAWS),
        "AdamW continued": AdamW(),
        "SWA": Swa(DESCENT),
        "SWAG": Swag(DESCENT, draws=DRAWS),
        "SGLD": Sgld(heteroscedastic=False, draws=DRAWS),
        "Cyclical SGLD": CyclicalSgld(cycles=2, draws_per_cycle=8, heteroscedastic=False),
        "IVON": Ivon(draws=DRAWS),
        "MFVI": Mfvi(draws=DRAWS),
    }
    yield "MC dropout untrained", McDropout(training=Given(), draws=DRAWS)
    for label, method in methods.items():
        yield label, _chosen(method, noise)


def _chosen(method: Method, noise: Noise) -> Guarded:
    """Return the treatment with settings by the calibration rows, or the network if it is better.

    All have one number of trials, and further training has one length.
    """
    lengths = (EPOCHS,) if space_of(method).length else ()
    return Guarded(Tuned(method, TRIALS, lengths=lengths, noise=noise, halving=True))

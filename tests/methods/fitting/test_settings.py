"""Invalid settings are refused when a method is constructed."""

import math

import pytest

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.ensemble import Ensemble
from bnnbench.methods.ivon import Ivon
from bnnbench.methods.mc_dropout import McDropout
from bnnbench.methods.mfvi import Mfvi
from bnnbench.methods.sgd import Sgd

DESCENTS = [AdamW, Sgd, Mfvi, Ivon]


@pytest.mark.parametrize("method", DESCENTS)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0.0),
        ("learning_rate", -1.0),
        ("learning_rate", math.nan),
        ("learning_rate", math.inf),
        ("epochs", 0),
        ("batch_size", 0),
    ],
)
def test_a_descent_that_cannot_descend_is_refused_by_name(method, name, value):
    with pytest.raises(ValueError, match=f"{method.__name__} needs {name}"):
        method(**{name: value})


@pytest.mark.parametrize(
    ("method", "name", "value"),
    [
        (AdamW, "weight_decay", -1e-3),
        (Sgd, "weight_decay", -1e-3),
        (Sgd, "momentum", 1.0),
        (Mfvi, "prior_std", 0.0),
        (Mfvi, "initial_std", -1.0),
        (Mfvi, "kl_weight", -1.0),
        (Mfvi, "draws", -1),
        (Ivon, "initial_hessian", 0.0),
        (Ivon, "beta1", 1.0),
        (Ivon, "beta2", 1.0),
        (Ivon, "weight_decay", -1e-4),
        (Ivon, "effective_sample_size", 0.0),
        (Ivon, "draws", -1),
        (McDropout, "rate", 0.0),
        (McDropout, "rate", 1.0),
        (McDropout, "draws", 0),
        (Ensemble, "size", 0),
    ],
)
def test_a_setting_out_of_its_range_is_refused_by_name(method, name, value):
    with pytest.raises(ValueError, match=f"{method.__name__} needs {name}"):
        method(**{name: value})


def test_a_misspelt_schedule_is_refused_with_the_choices():
    from bnnbench.methods.fitting.settings import require_choice

    class Misspelt:
        schedule = "cosin"

    with pytest.raises(ValueError, match="constant, cosine; got 'cosin'"):
        require_choice(Misspelt(), "schedule", ("constant", "cosine"))

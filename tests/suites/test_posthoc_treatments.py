"""Treatments of a trained network: which are guarded, and among how many settings each chooses."""

from pathlib import Path

import pytest

from bnnbench.methods.laplace.method import Laplace
from bnnbench.methods.post_hoc.guarded import Guarded
from bnnbench.methods.tuning.method import Tuned
from bnnbench.methods.tuning.space import space_of
from bnnbench.suites.posthoc.treatments import EVIDENCE, ensembles, treatments

ROOT = Path(__file__).resolve().parents[2]
PAGE = " ".join((ROOT / "docs" / "trained_networks.md").read_text(encoding="utf-8").split())
FURTHER = {"MC dropout", "AdamW continued", "SWA", "SWAG", "SGLD", "Cyclical SGLD", "IVON", "MFVI"}
LAPLACE = {f"Laplace {part}" for part in ("last layer", "KFAC", "diagonal", "subnetwork")}
TASKS = pytest.mark.parametrize("task", ["regression", "classification"])


@TASKS
def test_what_trains_further_or_samples_or_chooses_a_prior_is_guarded(task, tmp_path):
    files = tuple(str(tmp_path / name) for name in ("a.pt", "b.pt"))
    for file in files:
        Path(file).touch()
    made = {**treatments(task, ()), **ensembles(task, files)}
    guarded = {label for label, method in made.items() if isinstance(method, Guarded)}
    assert guarded == FURTHER | LAPLACE | {"HMC last layer", "VBLL last layer"}
    assert {f"{label}{EVIDENCE}" for label in LAPLACE} <= made.keys() - guarded
    assert "These, and HMC and VBLL of the last layer, are guarded: if the network as it" in PAGE


@TASKS
def test_further_training_chooses_among_four_settings_and_laplace_among_eight_precisions(task):
    made = treatments(task, ())
    for label in FURTHER:
        search = made[label].method
        assert isinstance(search, Tuned)
        assert (search.trials, len(search.lengths) <= 1) == (4, True)
        assert space_of(search.method).fields
        assert task == "regression" or search.noise == "own", "which is no temperature"
    for label in LAPLACE:
        assert isinstance(made[label].method, Laplace)
        assert len(set(made[label].method.prior_precisions)) == 8
    assert "among four settings" in PAGE
    assert "among eight prior precisions" in PAGE

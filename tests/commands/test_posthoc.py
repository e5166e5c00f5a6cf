"""`bnnbench posthoc` from a state dictionary to a report, with torch's own scores."""

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

from bnnbench.commands.posthoc import main
from bnnbench.engine.store.store import Store
from bnnbench.suites.posthoc.treatments import ensembles, treatments

NETS = """
import torch
from torch import nn


def net():
    body = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten()
    return nn.Sequential(*body, nn.Linear(216, 12), nn.ReLU(), nn.Dropout(0.2), nn.Linear(12, 10))


def wide():
    body = nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten()
    return nn.Sequential(*body, nn.Linear(216, 20), nn.ReLU(), nn.Dropout(0.2), nn.Linear(20, 10))


def rows(inputs, outputs):
    return nn.Sequential(nn.Linear(inputs, 9), nn.Tanh(), nn.Linear(9, outputs))
"""
OPTIONS = ["--executor", "serial"]


def digits():
    bunch: Any = load_digits()
    return (bunch.images[:, None] / 8 - 1).astype(np.float32), bunch.target


def fitted(module, inputs, targets, epochs=4):
    """Return the module after a few epochs of Adam, as people train."""
    optimiser = torch.optim.Adam(module.parameters(), 3e-3)
    inputs, targets = torch.from_numpy(inputs), torch.from_numpy(targets)
    for _ in range(epochs):
        for batch in torch.randperm(len(inputs)).split(32):
            optimiser.zero_grad()
            functional.cross_entropy(module(inputs[batch]), targets[batch]).backward()
            optimiser.step()
    return module.eval()


@pytest.fixture
def folder(tmp_path, monkeypatch, warm_reports):
    """A folder with a network trained on digits, its state dictionary and its rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "nets.py").write_text(NETS)
    sys.modules.pop("nets", None)
    images, labels = digits()
    np.savez("train.npz", inputs=images[:400], targets=labels[:400])
    np.savez("test.npz", inputs=images[400:800], targets=labels[400:800])
    np.savez("upside_down.npz", inputs=images[800:900, :, ::-1])
    torch.save(trained_state(), "w.pt")
    yield tmp_path
    sys.modules.pop("nets", None)


@cache
def trained_state():
    """Return the state of a network after a few epochs on the first 400 digits."""
    torch.manual_seed(0)
    images, labels = digits()
    return fitted(network(), images[:400], labels[:400]).state_dict()


def network():
    import nets  # pyright: ignore[reportMissingImports]

    return nets.net()


def posthoc(*arguments, factory="nets.py:net", weights="w.pt"):
    files = ["--train", "train.npz", "--test", "test.npz"]
    return main([factory, "--weights", weights, *files, *OPTIONS, *arguments])


def records():
    by_label = {r.method: r for r in Store(Path("results/posthoc")).records()}
    assert {r.outcome.status for r in by_label.values()} == {"completed"}
    return by_label


@pytest.mark.long
def test_the_given_networks_row_is_torchs_own_and_rows_are_marked(folder, capfd):
    labels = "Given network,Temperature,Conformal,Laplace last layer,Laplace last layer (evidence)"
    assert posthoc("--methods", labels, "--ood", "upside_down.npz") == 0
    done = records()
    module = network()
    module.load_state_dict(torch.load("w.pt", weights_only=True))
    images, labels = digits()
    chosen = np.sort(np.random.default_rng(0).permutation(400)[200:])
    rows = torch.from_numpy(images[400:800][chosen]), torch.from_numpy(labels[400:800][chosen])
    with torch.no_grad():
        expected = float(functional.cross_entropy(module.eval()(rows[0]), rows[1]))
    scores = done["Given network"].outcome.scores
    assert scores["clean"]["nll"] == pytest.approx(expected, rel=1e-5)
    assert 0 < scores["ood_upside_down"]["auroc_ood"] < 1
    assert done["Conformal"].outcome.scores["clean"]["set_coverage"] > 0.8
    assert done["Temperature"].outcome.diagnostics["temperature"] != 1
    page = (folder / "results" / "posthoc" / "report.html").read_text()
    assert "Treatments of the given network" in page
    assert "calibration rows" in page
    last = capfd.readouterr().out.splitlines()[-1]
    assert last.startswith(("Take ", "Leave the network as it is"))  # one sentence decides
    assert "evidence" not in last


@pytest.mark.long
def test_every_treatment_can_be_applied_to_a_network_with_dropout_and_batch_norm(folder, capfd):
    state = torch.load("w.pt", weights_only=True)
    torch.save({"state_dict": {f"module.{name}": tensor for name, tensor in state.items()}}, "v.pt")
    assert posthoc("--profile", "all", "--weights", "v.pt", "--calibration", "train") == 0
    done = records()
    both = ("w.pt", "v.pt")
    assert done.keys() == {*treatments("classification", ()), *ensembles("classification", both)}
    assert "training rows *" in (folder / "results" / "posthoc" / "report.html").read_text()
    same = done["Ensemble"].outcome.scores["clean"]["nll"]
    assert same == pytest.approx(done["Given network"].outcome.scores["clean"]["nll"], rel=1e-5)


@pytest.mark.long
@pytest.mark.parametrize(("outputs", "meaning"), [(1, "mean"), (2, "mean,logvar")])
def test_regressions_are_scored_in_the_units_of_their_targets(folder, outputs, meaning):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(300, 3)).astype(np.float32)
    targets = (100 + 40 * inputs[:, 0] + 10 * rng.normal(size=300)).astype(np.float32)
    for name, rows in {"train": slice(0, 150), "test": slice(150, 300)}.items():
        np.savez(f"{name}.npz", inputs=inputs[rows], targets=targets[rows])
    module = nn.Sequential(nn.Linear(3, 9), nn.Tanh(), nn.Linear(9, outputs))
    with torch.no_grad():
        module[2].bias[0] = 100.0
    torch.save(module.state_dict(), "w.pt")
    arguments = ["--outputs", meaning, "--task", "regression", "--profile", "all"]
    assert posthoc(*arguments, factory="nets.py:rows") == 0
    done = records()
    chosen = np.sort(np.random.default_rng(0).permutation(150)[75:])
    with torch.no_grad():
        out = module(torch.from_numpy(inputs[150:][chosen]))
    errors = targets[150:][chosen] - out[:, 0].numpy()
    scores = done["Given network"].outcome.scores["clean"]
    assert scores["rmse"] == pytest.approx(float(np.sqrt(np.mean(errors**2))), rel=1e-5)
    if outputs == 2:
        means, logs = out.split(1, 1)
        truth = torch.from_numpy(targets[150:][chosen])[:, None]
        loss = functional.gaussian_nll_loss(means, truth, logs.exp(), full=True)
        assert scores["log_likelihood"] == pytest.approx(-float(loss), rel=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"factory": "nets.py:nothing"}, "has no attribute 'nothing'"),
        ({"factory": "nowhere.py:net"}, "there is no file"),
        ({"weights": "nowhere.pt"}, "there is no file of weights"),
        ({"factory": "nets.py:wide"}, "w.pt does not fit nets:wide: it has other shapes of 4.w"),
        ({"weights": "test.npz"}, "cannot be read without running code"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(folder, capsys, arguments, message):
    assert posthoc(**arguments) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_mistake_in_an_option_is_found_before_a_file_is_read(folder, capsys):
    with pytest.raises(SystemExit) as end:
        main(["nets.py:net", "--weights", "w.pt", "--train", "x", "--test", "x", "--metods", "y"])
    assert end.value.code == 2
    assert "--methods" in capsys.readouterr().err

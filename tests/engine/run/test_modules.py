"""Runs with custom networks: keys, records, workers, isolation, repetition."""

import json
import subprocess
from dataclasses import replace

import pytest

from bnnbench.commands.bundle import Refused, check
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.stand_ins import DiabetesAsUci
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.declare.third_party import has_third_party_code
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.task import Task
from bnnbench.engine.store.rebuilding import NotRepeatable, rebuilt_run
from bnnbench.engine.store.store import Store
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.networks.architectures import Linear, TorchModule
from bnnbench.methods.source_code import method_digest
from tests.methods.networks.modules.examples import Mlp, Undisciplined
from tests.records import changed
from tests.warm import python

METHOD = AdamW(epochs=2)
LAYER = TorchModule(Mlp, 1, arguments={"features": 10})


def run_of(*layers) -> Run:
    return Run("own", "quick", "AdamW", Case(DiabetesAsUci(), layers), METHOD, fold=0, seed=0)


def record_of(run: Run):
    (outcome,) = execute(Task((run,), (Evaluation(Clean(), ("rmse",)),)))
    assert outcome.record.outcome.status == "completed", outcome.record.outcome.error
    return outcome.record


def test_a_record_names_the_network_and_can_be_repeated():
    run = run_of(LAYER)
    record = record_of(run)
    (module,) = record.run["modules"]
    assert module["class"] == "tests.methods.networks.modules.examples:Mlp"
    assert module["parameters"] == 10 * 16 + 16 + 16 * 8 + 8 + 9
    assert len(module["structure_sha256"]) == 64
    assert module["source_sha256"].startswith("m1:")
    assert record.circumstances.provenance["module_members"] == ["one by one"]
    assert rebuilt_run(record, ("tests",)) == run


def test_code_that_a_record_names_runs_only_if_it_is_allowed():
    record = record_of(run_of(LAYER))
    with pytest.raises(NotRepeatable, match=r"names tests\.methods.*add --allow tests"):
        rebuilt_run(record)
    described = json.loads(json.dumps(record.run))
    described["architecture"][0]["factory"] = "os:system"
    with pytest.raises(NotRepeatable, match="names os:system"):
        rebuilt_run(replace(record, run=described))


def test_a_module_of_this_project_needs_no_leave():
    factory = "bnnbench.methods.networks.lecun_mlp:lecun_mlp"
    run = run_of(TorchModule(factory, 1, arguments={"widths": (10, 4, 1)}))
    assert rebuilt_run(record_of(run)) == run


def test_a_bundle_tells_runs_of_other_code_from_those_that_cannot_be_repeated():
    record = record_of(run_of(Linear(1)))
    committed = changed(
        record,
        provenance={**record.circumstances.provenance, "dirty": False},
        code_sha256=method_digest(METHOD),
    )
    check([committed])
    with pytest.raises(Refused, match="made by other code than today's"):
        check([changed(committed, code_sha256="0" * 64)])


def test_keys_tell_networks_apart_by_their_structure_too(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    keys = set()
    for width in (3, 4):
        file = tmp_path / f"net{width}.py"
        file.write_text(
            "from torch import nn\ndef net():\n"
            f"    return nn.Sequential(nn.Linear(10, {width}), nn.Linear({width}, 1))\n"
        )
        run = run_of(TorchModule(f"net{width}:net", 1))
        keys.add(json.dumps(run.modules[0]))
        assert run.key != run_of(LAYER).key
    assert len(keys) == 2
    assert "modules" not in run_of(Linear(1)).description


def test_stacking_is_said_where_it_works_and_why_not_where_it_does_not():
    stacked = record_of(run_of(replace(LAYER, stacked=True)))
    assert stacked.circumstances.provenance["module_members"] == ["together, by torch.vmap"]
    before = Linear(4)
    undisciplined = TorchModule(Undisciplined, 1, stacked=True)
    record = record_of(run_of(before, undisciplined))
    assert record.circumstances.provenance["module_members"] == [
        "one by one: it draws random numbers"
    ]


def test_a_network_from_elsewhere_has_a_process_of_its_own():
    assert has_third_party_code(run_of(LAYER))
    torchs = TorchModule("torch.nn:Linear", 1, arguments={"in_features": 10, "out_features": 1})
    assert not has_third_party_code(run_of(torchs))
    assert not has_third_party_code(run_of(Linear(1)))


def test_so_have_all_runs_of_a_task_of_which_one_has_such_a_network():
    ours = replace(run_of(Linear(1)), label="ours")
    assert Task((ours, run_of(LAYER)), ()).has_third_party_code
    assert not Task((ours, ours), ()).has_third_party_code


@pytest.mark.long
def test_workers_give_what_one_process_gives(tmp_path):
    (tmp_path / "nets.py").write_text(
        "from torch import nn\n\n\ndef mlp(inputs, outputs):\n"
        "    return nn.Sequential(nn.Linear(inputs, 8), nn.BatchNorm1d(8), nn.ReLU(),\n"
        "                         nn.Linear(8, outputs))\n"
    )
    scores = {}
    for place in ("serial", "processes"):
        arguments = ["uci", "--data", "stand-in", "--network", "nets.py:mlp", "--folds", "2"]
        arguments += ["--methods", "adamw(epochs=2),ensemble(size=2, member=adamw(epochs=2))"]
        arguments += ["--executor", place, "--out", place, "--no-report"]
        answer = subprocess.run(
            python("-m", "bnnbench", *arguments),
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert answer.returncode == 0, answer.stdout + answer.stderr
        records = Store(tmp_path / place / "uci").records()
        scores[place] = {r.key: (r.outcome.scores, r.outcome.predictions_sha256) for r in records}
    assert len(scores["serial"]) == 4
    assert scores["serial"] == scores["processes"]


def test_a_wrong_network_is_refused_before_anything_runs(tmp_path):
    (tmp_path / "bad.py").write_text(
        "from torch import nn\n\ntrained = nn.Linear(1, 1)\n\n\ndef none():\n    trained\n\n\n"
        "def hidden(width):\n    return nn.Linear(width, 1)\n\n\n"
        "def raises():\n    raise RuntimeError('no weights file')\n"
    )
    for network, message in (
        ("bad.py:trained", "needed a function that returns a network; trained is itself a network"),
        ("bad.py:none", "needed a torch.nn.Module of bad:none; got a NoneType"),
        ("bad.py:hidden", "missing 1 required positional argument: 'width'"),
        ("bad.py:raises", "fails: RuntimeError: no weights file"),
        ("nets.py:mlp", "there is no file"),
        ("torch.nn:Nothing", "Nothing"),
        ("linear", "module:function"),
    ):
        answer = subprocess.run(
            python("-m", "bnnbench", "uci", "--data", "stand-in", "--network", network),
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert answer.returncode == 2, answer.stdout
        assert "--network" in answer.stderr
        assert message in answer.stderr
    assert not (tmp_path / "results").exists()

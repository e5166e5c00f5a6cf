"""One run of each method of a bundle is carried out again, and what came of it is kept."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from bnnbench.commands import repeat
from bnnbench.commands.stored_runs import reproduction
from bnnbench.commands.stored_runs.repetition import not_rerun, spreads_over_runs
from bnnbench.datasets.conditions.clean import Clean
from bnnbench.datasets.cuts.limited import Limited
from bnnbench.datasets.reading import finished_runs
from bnnbench.datasets.stand_ins import DigitsAsMnist
from bnnbench.engine.declare.case import Case
from bnnbench.engine.declare.description import digest
from bnnbench.engine.declare.grid import Evaluation, Run
from bnnbench.engine.run import task
from bnnbench.engine.run.execute import execute
from bnnbench.engine.run.measuring.provenance import Code
from bnnbench.engine.run.task import Task
from bnnbench.engine.store import bundles, repetitions
from bnnbench.engine.store.store import CorruptRecord
from bnnbench.methods.adamw import AdamW
from bnnbench.methods.marginal import Marginal
from bnnbench.methods.networks.architectures import Flatten, Linear
from tests.records import changed

CASE = Case(
    Limited(DigitsAsMnist(), train=60, test=30), (Flatten(), Linear(10)), "few", "Few digits"
)
CLEAN = (Evaluation(Clean(), ("nll", "accuracy")),)


def recorded(method, label, seed):
    (outcome,) = execute(Task((Run("made", "quick", label, CASE, method, 0, seed),), CLEAN))
    return outcome.record


@pytest.fixture(scope="module")
def records():
    adamw = [recorded(AdamW(epochs=1), "AdamW", seed) for seed in range(3)]
    return [*adamw, recorded(Marginal(), "Class frequency", 0)]


@pytest.fixture(autouse=True)
def _committed(monkeypatch):
    monkeypatch.setattr(task, "code_of", lambda method: Code("0" * 64, dirty=False))


def cheaper(record, seconds):
    return replace(record, cost=replace(record.cost, fit_cpu_seconds=seconds))


def with_nll(record, value):
    return changed(record, scores={"clean": record.outcome.scores["clean"] | {"nll": value}})


def call(folder, capsys, *flags):
    code = repeat.main([str(folder), "--workers", "1", *flags])
    told = capsys.readouterr()
    return code, told.out + told.err


def test_the_cheapest_run_of_each_method_is_repeated_once(records, tmp_path, capsys):
    first, second, third, constant = records
    bundles.write(tmp_path / "made", [first, cheaper(second, 1e-9), third, constant])
    code, told = call(tmp_path, capsys)
    assert code == 0, told
    found = repetitions.read(tmp_path / "made")
    assert [(r.method, r.key) for r in found] == [
        ("AdamW", second.key),
        ("Class frequency", constant.key),
    ]
    assert {r.outcome for r in found} == {"identical"}
    assert all(r.finished and r.cpu == r.cpu_of_record for r in found)
    assert "identical: 2 runs" in told
    assert "0 runs to re-run, 2 re-run earlier" in call(tmp_path, capsys)[1]


def test_a_score_that_differs_is_told_in_spreads_over_seeds(records, tmp_path, capsys):
    adamw = [with_nll(r, value) for r, value in zip(records[:3], (9.0, 11.0, 16.0), strict=True)]
    bundles.write(tmp_path, [cheaper(adamw[0], 1e-9), *adamw[1:]])
    told = call(tmp_path, capsys)[1]
    (found,) = repetitions.read(tmp_path)
    true = records[0].outcome.scores["clean"]["nll"]
    assert (found.outcome, found.score) == ("differs", "clean, nll")
    assert (found.recorded, found.repeated) == (9.0, true)
    assert found.spreads == pytest.approx((9.0 - true) / np.std([9.0, 11.0, 16.0], ddof=1))
    assert "clean, nll was 9, is " in told


def test_a_run_that_no_code_of_today_describes_is_kept_with_the_reason(records, tmp_path, capsys):
    record = records[3]
    described = json.loads(json.dumps(record.run))
    described["method"]["type"] = "bnnbench.methods.forgotten:Forgotten"
    stranger = replace(record, run=described, key=digest(described))
    bundles.write(tmp_path, [stranger])
    assert call(tmp_path, capsys)[0] == 0
    (found,) = repetitions.read(tmp_path)
    assert found.outcome == "not repeated"
    assert "forgotten" in found.reason


def test_a_line_that_a_machine_with_a_gpu_wrote_stays(records, tmp_path, capsys, monkeypatch):
    on_gpu = changed(
        records[3], provenance=dict(records[3].circumstances.provenance) | {"device": "NVIDIA X"}
    )
    bundles.write(tmp_path, [on_gpu])
    monkeypatch.setattr(reproduction, "gpus_here", lambda: ())
    assert "0 runs to re-run, 0 re-run earlier" in call(tmp_path, capsys)[1]
    assert not (tmp_path / repetitions.NAME).exists()
    line = replace(not_rerun(on_gpu, ""), outcome="identical", commit="1" * 40)
    repetitions.write(tmp_path, [line])
    assert "0 runs to re-run, 1 re-run earlier" in call(tmp_path, capsys)[1]
    assert repetitions.read(tmp_path) == (line,)


def test_long_runs_are_passed_over(records, tmp_path, capsys):
    bundles.write(tmp_path, [cheaper(record, 61.0) for record in records])
    assert "0 runs to re-run" in call(tmp_path, capsys)[1]
    assert "2 runs to re-run" in call(tmp_path, capsys, "--at-most", "90")[1]


def test_code_that_is_not_committed_is_refused(records, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(task, "code_of", lambda method: Code("0" * 64, dirty=True))
    bundles.write(tmp_path, records)
    code, told = call(tmp_path, capsys)
    assert (code, "uncommitted" in told) == (3, True)
    assert not repetitions.read(tmp_path)


def test_outcomes_for_installed_runs_go_to_a_folder_of_the_user(
    records, tmp_path, capsys, monkeypatch
):
    bundles.write(tmp_path / "installed" / "made", records)
    monkeypatch.setattr(finished_runs, "CHECKOUT", tmp_path / "no checkout")
    monkeypatch.setattr(finished_runs, "_installed", lambda: tmp_path / "installed")
    monkeypatch.setattr(task, "code_of", lambda method: Code("0" * 64, dirty=None))
    monkeypatch.chdir(tmp_path)
    assert repeat.main(["--workers", "1"]) == 0
    assert "outcomes: reproduced" in capsys.readouterr().out
    found = repetitions.read(tmp_path / "reproduced" / "made")
    assert {r.outcome for r in found} == {"identical"}
    assert [p.name for p in (tmp_path / "installed" / "made").iterdir()] == [bundles.NAME]


def test_runs_without_their_data_are_left_out_and_counted(records, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(DigitsAsMnist, "missing", lambda self, part=None: ("digits",))
    bundles.write(tmp_path, records)
    code, told = call(tmp_path, capsys)
    assert code == 0
    assert "0 runs to re-run" in told
    assert "2 runs left out, since their data are not on this machine: digits_as_mnist 2" in told
    assert "bnnbench data fetch" in told


def test_a_spread_over_seeds_is_pooled_over_folds(records):
    nlls = {(0, 0): 1.0, (0, 1): 3.0, (1, 0): 10.0, (1, 1): 16.0}
    alike = [
        replace(with_nll(records[0], nll), fold=fold, seed=seed)
        for (fold, seed), nll in nlls.items()
    ]
    pooled = np.sqrt((np.var([1, 3], ddof=1) + np.var([10, 16], ddof=1)) / 2)
    assert spreads_over_runs(alike)["clean, nll"] == pytest.approx(pooled)
    one_seed = [r for r in alike if r.seed == 0]
    assert spreads_over_runs(one_seed)["clean, nll"] == pytest.approx(np.std([1.0, 10.0], ddof=1))
    assert spreads_over_runs(alike[:1]) == {}


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / repetitions.NAME).write_text("profile,outcome\nquick,perhaps\n")
    with pytest.raises(
        CorruptRecord, match=f"{re.escape(repetitions.NAME)}.*; get the file [^;]*again$"
    ):
        repetitions.read(tmp_path)

"""Every fault of a broken reference is refused by name."""

import io
import json

import numpy as np
import pytest

from bnnbench.commands.truth import main
from bnnbench.datasets.references.certificate import Refused
from bnnbench.datasets.references.reading import require_data
from bnnbench.suites.truth.references.certifying import certified
from bnnbench.suites.truth.references.verifying import verified
from tests.suites.truth.references.conftest import MODEL, RECIPE, traces


def test_a_sound_reference_is_verified_without_warning(references):
    reference, warnings = verified(references / "known")
    assert warnings == []
    assert reference.draws.f.shape == (1000, 6)


CONDITIONS = {
    "chains": ("chains", 4),
    "r_hat of f_test": ("quantities.f_test.r_hat", 1.02),
    "r_hat of loss": ("quantities.loss.r_hat", 1.01),
    "ess_bulk of f_train": ("quantities.f_train.ess_bulk", 400),
    "ess_tail of log_density": ("quantities.log_density.ess_tail", 39.0),
    "ess_bulk of sum_of_squares": ("quantities.sum_of_squares.ess_bulk", None),
    "divergences": ("divergences", 1),
    "acceptance": ("acceptance", 0.97),
    "worst_mean_z": ("repeat.worst_mean_z", 4.1),
    "worst_scale_z": ("repeat.worst_scale_z", 5.1),
    "dtype": ("dtype", "float32"),
}


def put(stated: dict, path: str, value: object) -> None:
    *way, last = path.split(".")
    for key in way:
        stated = stated[key]
    stated[last] = value


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_number_that_meets_no_condition_is_refused_though_it_says_that_it_passes(
    references, edit, condition
):
    edit(lambda stated: put(stated, *CONDITIONS[condition]))
    with pytest.raises(Refused, match=rf"known: certificate.json, passes: True.*{condition}"):
        verified(references / "known")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_certificate_that_admits_its_failure_is_refused_too(references, edit, condition):
    def admit(stated: dict) -> None:
        put(stated, *CONDITIONS[condition])
        stated.update(passes=False, failed=["it"])

    edit(admit)
    with pytest.raises(Refused, match=f"does not pass: .*{condition}"):
        verified(references / "known")


@pytest.mark.parametrize(
    "path", ["format", "model", "draws_sha256", "quantities", "repeat", "moments", "sbc"]
)
def test_a_missing_key_is_named(references, edit, path):
    edit(lambda stated: stated.pop(path))
    with pytest.raises(Refused, match=path):
        verified(references / "known")


def test_a_missing_number_is_named(references, edit):
    edit(lambda stated: stated["quantities"]["loss"].pop("ess_tail"))
    with pytest.raises(Refused, match=r"quantities\.loss\.ess_tail"):
        verified(references / "known")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda s: s.update(format=2), "format: 2"),
        (lambda s: s.update(passes=False), "passes: False"),
        (lambda s: s["model"].update(fold=1), "model_hash"),
        (lambda s: s["model"]["noise"].update(std=0.31), "model_hash"),
        (lambda s: s["model"]["noise"].update(std=-1.0), "noise std above 0"),
        (lambda s: s["data"].update(test_inputs="0" * 64), "test_inputs does not match"),
        (lambda s: s["data"].update(rows=41), "rows does not match"),
        (lambda s: s["moments"]["mean"].__setitem__(2, 0.5), "moments, mean: at test row 2"),
        (lambda s: s["moments"]["std"].__setitem__(3, 1.5), "moments, std: at test row 3"),
        (lambda s: s["moments"]["mean"].pop(), "6 test rows, needed 5"),
        (lambda s: s.update(sbc="sbc/other.json"), "other.json cannot be read"),
    ],
)
def test_an_edited_certificate_is_refused(references, edit, change, named):
    edit(change)
    with pytest.raises(Refused, match=f"known: .*{named}"):
        verified(references / "known")


def test_one_byte_of_the_draws_is_noticed(references):
    path = references / "known" / "draws.npz"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"known: draws\.npz: SHA-256"):
        verified(references / "known")


def test_draws_that_do_not_mix_are_refused_though_their_checksum_is_right(references):
    stuck = traces(0)
    stuck.f_test[:] = stuck.f_test + np.arange(8.0)[:, None, None]
    stated, draws = certified("known", RECIPE, stuck, stuck)
    assert "r_hat of f_test" in stated["failed"][0]
    stated["quantities"] = certified("known", RECIPE, traces(0), traces(1))[0]["quantities"]
    (references / "known" / "draws.npz").write_bytes(draws)
    stated.update(passes=True, failed=[])
    (references / "known" / "certificate.json").write_text(json.dumps(stated))
    with pytest.raises(Refused, match="r_hat of the stored draws"):
        verified(references / "known")


def test_a_calibration_that_says_that_it_passes_is_counted_again(references):
    path = references / "sbc" / f"{MODEL.family}.json"
    record = json.loads(path.read_text())
    record["ranks"]["loss"] = [rank // 2 for rank in record["ranks"]["loss"]]
    path.write_text(json.dumps(record))
    with pytest.raises(Refused, match="passes: True, but by its ranks: loss: p = "):
        verified(references / "known")


def test_a_calibration_without_the_loss_is_refused(references):
    path = references / "sbc" / f"{MODEL.family}.json"
    record = json.loads(path.read_text())
    del record["ranks"]["loss"]
    path.write_text(json.dumps(record))
    with pytest.raises(Refused, match="no ranks of loss"):
        verified(references / "known")


@pytest.mark.parametrize(("shift", "scale"), [(0.1, 1.0), (0.0, 1.15)])
def test_runs_that_differ_in_mean_or_scale_are_no_reference(shift, scale):
    stated, _ = certified("known", RECIPE, traces(0), traces(1, shift, scale))
    assert not stated["passes"]
    assert stated["failed"][0].startswith("repeat")


def test_draws_of_other_data_are_refused(references):
    reference, _ = verified(references / "known")
    other = {**MODEL.checksums, "train_targets": "of another fold"}
    with pytest.raises(Refused, match="train_targets does not match: got of another fold"):
        require_data(reference, other)


def test_the_command_names_what_it_refuses(references, edit, capsys):
    assert main(["verify", "--folder", str(references.parent)]) == 0
    assert capsys.readouterr().out == "known: valid\n"
    assert main(["verify", "unknown", "--folder", str(references.parent)]) == 1
    assert "unknown is neither in references nor in oracles" in capsys.readouterr().out
    edit(lambda stated: stated.update(chains=7))
    assert main(["verify", "--folder", str(references.parent)]) == 1
    assert "refused: known: certificate.json, passes: True" in capsys.readouterr().out


def test_a_draw_that_is_left_out_is_noticed(references):
    path = references / "known" / "draws.npz"
    with np.load(io.BytesIO(path.read_bytes())) as file:
        arrays = {name: file[name] for name in file.files}
    arrays["codes"], arrays["chain"] = arrays["codes"][1:], arrays["chain"][1:]
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)
    with pytest.raises(Refused, match="SHA-256"):
        verified(references / "known")

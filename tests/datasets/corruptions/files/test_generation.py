"""Files in the official layout, whole or not at all, and the command that writes them."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bnnbench.commands.corruptions import main
from bnnbench.datasets.corruptions import CORRUPTIONS, corrupt
from bnnbench.datasets.corruptions.contact_sheet import contact_sheet
from bnnbench.datasets.corruptions.files import generation
from bnnbench.datasets.corruptions.files.checksums import CIFAR10_C
from bnnbench.datasets.corruptions.files.generation import MANIFEST, WrittenFile, make_cifar_c
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.stand_ins import DigitsAsCifar10
from bnnbench.engine.workers.pool import Pool

DIGITS, LABELS = (array[:20] for array in DigitsAsCifar10().images("test"))
NAMES = ("fog", "contrast")


def make(folder: Path, names=NAMES, **settings: Any) -> dict[str, WrittenFile]:
    return dict(make_cifar_c(DIGITS, LABELS, folder, names, **settings))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_files_have_the_official_layout(tmp_path):
    written = make(tmp_path)
    assert {*contents(tmp_path)} == {"contrast.npy", "fog.npy", "labels.npy", MANIFEST}
    fog = np.load(tmp_path / "fog.npy")
    assert (fog.shape, fog.dtype) == ((100, 32, 32, 3), np.uint8)
    for severity in range(1, 6):
        rows = slice((severity - 1) * 20, severity * 20)
        assert np.array_equal(fog[rows], corrupt(DIGITS, "fog", severity))
    labels = np.load(tmp_path / "labels.npy")
    assert labels.dtype == np.uint8
    assert labels.tolist() == LABELS.tolist() * 5
    assert {one.origin for one in written.values()} == {"generated"}


def test_files_are_those_numpy_would_write(tmp_path):
    make(tmp_path)
    np.save(tmp_path / "again.npy", np.load(tmp_path / "fog.npy"))
    assert (tmp_path / "again.npy").read_bytes() == (tmp_path / "fog.npy").read_bytes()


@pytest.mark.long
def test_processes_write_what_one_does(tmp_path):
    with Pool(2) as pool:
        alone, together = make(tmp_path / "1"), make(tmp_path / "2", pool=pool)
    assert alone == together
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_whole_files_are_kept_and_only_others_are_made(tmp_path, monkeypatch):
    first = make(tmp_path)
    (tmp_path / "fog.npy").write_bytes(b"damaged")
    made = []

    def counting(images, name, *rest):
        made.append(name)
        return corrupt(images, name, *rest)

    monkeypatch.setattr(generation, "corrupt", counting)
    assert make(tmp_path, (*NAMES, "pixelate")) == first | {
        "pixelate": generation._write(DIGITS, LABELS, tmp_path, "pixelate", 0)
    }
    assert set(made) == {"fog", "pixelate"}


def test_an_interrupted_command_leaves_whole_files_and_can_be_repeated(tmp_path, monkeypatch):
    def interrupted(images, name, severity, seed):
        if (name, severity) == ("contrast", 3):
            raise KeyboardInterrupt
        return corrupt(images, name, severity, seed)

    with monkeypatch.context() as patch:
        patch.setattr(generation, "corrupt", interrupted)
        with pytest.raises(KeyboardInterrupt):
            make(tmp_path / "1")
    assert {*contents(tmp_path / "1")} == {"fog.npy", "labels.npy", MANIFEST}
    assert make(tmp_path / "1") == make(tmp_path / "2")
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_a_folder_of_another_seed_or_of_unknown_files_is_refused(tmp_path):
    make(tmp_path / "1")
    with pytest.raises(ValueError, match="different seed"):
        make(tmp_path / "1", seed=1)
    (tmp_path / "1" / MANIFEST).unlink()
    with pytest.raises(ValueError, match="not written by this command"):
        make(tmp_path / "1")


def test_another_seed_gives_other_noise_and_the_same_blur(tmp_path):
    first, second = make(tmp_path / "1"), make(tmp_path / "2", seed=1)
    assert first["fog"] != second["fog"]
    assert first["contrast"] == second["contrast"]


def test_the_manifest_says_what_the_files_are(tmp_path):
    written = make(tmp_path)
    manifest = json.loads((tmp_path / MANIFEST).read_text())
    assert manifest["files"]["fog"] == {"md5": written["fog"].md5, "origin": "generated"}
    assert manifest["seed"] == 0


def test_the_official_labels_are_recognised(tmp_path, cifar10):
    labels = Cifar10().images("test")[1]
    ((name, written),) = make_cifar_c(cifar10, labels, tmp_path, ())
    assert (name, written) == ("labels", WrittenFile(CIFAR10_C["labels"], "original"))


def test_the_command_writes_files_and_says_of_each_what_it_is(tmp_path, capsys):
    arguments = ["--source", "digits_as_cifar10", "--only", "contrast", "--workers", "1"]
    assert main([*arguments, "--out", str(tmp_path / "c")]) == 0
    assert np.load(tmp_path / "c/contrast.npy").shape == (1800, 32, 32, 3)
    lines = capsys.readouterr().out.splitlines()
    assert ["labels" in lines[0], "contrast" in lines[1]] == [True, True]
    assert "generated" in lines[1]


def test_the_place_of_the_official_files_is_refused(folder, capsys):
    arguments = ["--source", "digits_as_cifar10", "--only", "contrast"]
    assert main([*arguments, "--out", str(folder / "CIFAR-10-C")]) == 1
    assert "reserved for the official files" in capsys.readouterr().err


def test_frost_without_textures_is_refused_before_anything_is_made(folder, tmp_path, capsys):
    arguments = ["--source", "digits_as_cifar10", "--out", str(tmp_path / "c"), "--offline"]
    assert main(arguments) == 1
    assert "bnnbench data fetch frost" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    "arguments", [[], ["--out", "x", "--only", "frog"], ["--out", "x", "--workers", "0"]]
)
def test_a_wrong_flag_is_a_usage_error(arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2


def test_a_contact_sheet_shows_the_image_and_every_corruption(frost_textures, tmp_path):
    image = np.ascontiguousarray(DIGITS[3])
    sheet = np.asarray(contact_sheet(image))
    assert (sheet == np.asarray(contact_sheet(image))).all()
    large = corrupt(image[None], "contrast", 5)[0].repeat(3, 0).repeat(3, 1)
    row = list(CORRUPTIONS).index("contrast")
    top, left = 20 + row * 100, 150 + 5 * 100
    assert np.array_equal(sheet[top : top + 96, left : left + 96], large)
    name = tmp_path / "sheet.png"
    assert main(["--source", "digits_as_cifar10", "--contact-sheet", str(name)]) == 0
    with Image.open(name) as written:
        assert written.size == (150 + 6 * 100, 20 + 19 * 100)

"""Malformed bytes: every altered file is named, and no pickle runs code.

`BNNBENCH_FAULTS=10000` tries that many inputs; CI tries fewer.
"""

import io
import os
import pickle
import random
import resource
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bnnbench.datasets.errors import DataDamaged
from bnnbench.datasets.official import cifar10, mnist, svhn, uci
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.official.mnist import Mnist
from bnnbench.datasets.official.svhn import Svhn
from bnnbench.datasets.official.uci import Uci
from bnnbench.datasets.reading import files, pickles
from bnnbench.datasets.reading.cache import forget
from bnnbench.datasets.reading.files import DataFile
from tests.datasets.conftest import md5
from tests.datasets.test_formats import idx, put
from tests.engine.store.test_damage import hurt

FAULTS = int(os.environ.get("BNNBENCH_FAULTS", "400"))

ROWS = np.random.default_rng(0).integers(256, size=(4, 3072), dtype=np.uint8)
BATCH = pickle.dumps({"data": ROWS, "labels": [3, 1, 4, 1]}, 3)
TABLE = "\n".join(" ".join(f"{v:.3f}" for v in row) for row in ROWS[:, :14] / 7).encode()


def sources(folder, monkeypatch):
    """Return a function that loads each format, and the file that it reads first."""
    batch = put(folder, "cifar-10-batches-py/test_batch", BATCH)
    pixels = put(folder, "pixels.gz", idx(4, 28, 28, content=bytes(4 * 784)))
    labels = put(folder, "labels.gz", idx(4, content=bytes(4)))
    import scipy.io

    made = io.BytesIO()
    scipy.io.savemat(made, {"X": np.zeros((32, 32, 3, 4), np.uint8), "y": np.ones((4, 1))})
    matlab = put(folder, "test_32x32.mat", made.getvalue())
    table = put(folder, uci.SETS["boston"].file.path, TABLE)
    monkeypatch.setitem(cifar10.FILES, "test", (batch,))
    monkeypatch.setitem(mnist.FILES, "test", (pixels, labels))
    monkeypatch.setitem(svhn.FILES, "test", (matlab,))
    entry = uci.SETS["boston"]
    monkeypatch.setitem(uci.SETS, "boston", type(entry)(**vars(entry) | {"file": table}))
    return [
        (lambda: Cifar10().images("test"), batch),
        (lambda: Mnist().images("test"), pixels),
        (lambda: Mnist().images("test"), labels),
        (lambda: Svhn().images("test"), matlab),
        (lambda: Uci("boston").table(0), table),
    ]


def test_every_altered_file_is_named_before_a_loader_sees_it(folder, monkeypatch):
    rng = random.Random(0)
    for load, file in sources(folder, monkeypatch):
        forget()
        load()
        content = file.place.read_bytes()
        for _ in range(FAULTS // 5):
            if (other := hurt(content, rng)) != content:
                file.place.write_bytes(other)
                forget()
                files._verified.clear()
                with pytest.raises(DataDamaged, match=str(file.place)):
                    load()
        file.place.write_bytes(content)


@pytest.fixture
def bounded():
    """Allow at most another GiB of memory: an altered pickle may request any number of places."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 2**30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="bounds memory, which /proc tells")
@pytest.mark.usefixtures("bounded")
def test_no_altered_pickle_acts(tmp_path):
    """Any bytes lead to data or to an error; only three names are looked up."""
    looked_up = []

    class Watched(pickles._DataUnpickler):
        def find_class(self, module, name):
            looked_up.append((module, name))
            return super().find_class(module, name)

    marker, rng = tmp_path / "it_ran", random.Random(1)
    evil = pickle.dumps({"data": [os.system, f"touch {marker}"]}, 2)
    for content in (BATCH, evil):
        for _ in range(FAULTS // 2):
            try:
                found = Watched(io.BytesIO(hurt(content, rng)), encoding="latin1").load()
            except AssertionError:
                raise
            except Exception:
                continue
            assert not callable(found)
    assert not marker.exists()
    assert looked_up


@pytest.mark.parametrize("name", ["../evil", "/tmp/bnnbench_zip_evil", "a/../../evil", "..\\evil"])
def test_no_name_in_an_archive_is_a_place_to_write_to(folder, monkeypatch, name):
    """Even if an archive's member is requested by such a name, its place is the file's own."""
    monkeypatch.setenv("BNNBENCH_OFFLINE", "1")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        zipped.writestr(name, b"content")
    pack = put(folder, "pack.zip", buffer.getvalue())
    member = DataFile("test", "sub/file.bin", md5(b"content"), 7, archive=pack, member=name)
    files.fetch([member])
    places = [p.relative_to(folder.parent) for p in folder.parent.rglob("*") if p.is_file()]
    assert sorted(map(str, places)) == ["data/pack.zip", "data/sub/file.bin"]

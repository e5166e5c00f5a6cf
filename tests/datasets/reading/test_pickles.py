"""Pickles of plain data are read; one that would run code is refused before it does."""

import os
import pickle

import numpy as np
import pytest

from bnnbench.datasets.errors import DataDamaged
from bnnbench.datasets.official import cifar10
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.reading import pickles
from bnnbench.datasets.reading.files import DataFile
from tests.datasets.conftest import md5

PLAIN = [
    {"labels": [3, 1, 2], "name": "x", "pair": (1.5, None), "raw": b"\x00\xff", "yes": True},
    ["a", ["nested", {"deep": ()}]],
    -(10**30),
]


class Exploit:
    def __init__(self, call, *arguments):
        self.call, self.arguments = call, arguments

    def __reduce__(self):
        return self.call, self.arguments


@pytest.mark.parametrize("protocol", range(3, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("value", PLAIN)
def test_plain_data_comes_back(value, protocol):
    assert pickles.load(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", [3, 4])
@pytest.mark.parametrize("dtype", ["u1", "<i8", "<f4", "S3", "?"])
def test_arrays_come_back(dtype, protocol):
    array = np.arange(12).reshape(3, 4).astype(dtype)
    back = pickles.load(pickle.dumps({"data": array}, protocol))
    np.testing.assert_array_equal(back["data"], array)
    assert back["data"].dtype == array.dtype


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_an_exploit_that_works_on_pickle_is_refused_and_nothing_runs(tmp_path, protocol):
    marker = tmp_path / "it_ran"
    for exploit in (
        Exploit(os.system, f"echo 1 > {marker}"),
        Exploit(eval, f"open({str(marker)!r}, 'w').close()"),
    ):
        payload = pickle.dumps({"data": [1, 2, exploit]}, protocol)
        pickle.loads(payload)
        assert marker.exists(), "the exploit is none"
        marker.unlink()
        with pytest.raises(pickle.UnpicklingError, match="Nothing was run"):
            pickles.load(payload)
        assert not marker.exists()


@pytest.mark.parametrize(
    "payload",
    [
        pickle.dumps(np.array([{"an": "object"}], dtype=object), 4),
        pickle.dumps(np.dtype([("a", "u1")]), 4),
        pickle.dumps(Exploit(np.dtype, "O"), 4),
        b"cnumpy\nndarray\n(K\x02S'O'\nS'0123456789abcdef'\ntR.",
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\ndtype\n(K\x00tS'b'\ntR.",
    ],
    ids=["object array", "record dtype", "object dtype", "ndarray called", "other array type"],
)
def test_arrays_of_anything_but_plain_values_are_refused(payload):
    with pytest.raises((pickle.UnpicklingError, TypeError)):
        pickles.load(payload)


def test_numpys_own_loader_is_no_way_round():
    with pytest.raises(pickle.UnpicklingError):
        pickles.load(pickle.dumps(Exploit(np.load, "/etc/passwd"), 4))


def test_an_exploit_in_place_of_a_cifar_batch_never_runs(folder, tmp_path, monkeypatch):
    marker = tmp_path / "it_ran"
    payload = pickle.dumps(Exploit(os.system, f"echo 1 > {marker}"), 2)
    place = folder / "cifar-10-batches-py/test_batch"
    place.parent.mkdir(parents=True)
    place.write_bytes(payload)
    with pytest.raises(DataDamaged, match="test_batch"):
        Cifar10().images("test")
    forged = DataFile("cifar10", "cifar-10-batches-py/test_batch", md5(payload))
    monkeypatch.setitem(cifar10.FILES, "test", (forged,))
    with pytest.raises(pickle.UnpicklingError, match=r"system"):
        Cifar10().images("test")
    assert not marker.exists()

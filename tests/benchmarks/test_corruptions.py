"""The cost of each corruption, and the official MD5 sums of whole files.

`pytest tests/benchmarks/test_corruptions.py --benchmark-only`, with BNNBENCH_DATA set.
"""

import numpy as np
import pytest

from bnnbench.datasets.corruptions import CORRUPTIONS, corrupt
from bnnbench.datasets.corruptions.constants import SEVERITIES
from bnnbench.datasets.corruptions.files import checksums
from bnnbench.datasets.official.cifar100 import Cifar100
from tests.datasets.corruptions.test_real_corruptions import official_sum

IMAGES = 1000
EXACT = tuple(checksums.CIFAR10_C_BLOCKS)


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_thousand_images_at_five_severities(name, benchmark, frost_textures, cifar10):
    images = cifar10[:IMAGES]
    corrupt(images[:10], name, 1)

    def all_severities() -> None:
        for severity in SEVERITIES:
            corrupt(images, name, severity)

    benchmark.pedantic(all_severities, rounds=3)
    benchmark.extra_info["seconds_per_10000_images"] = benchmark.stats["min"] * 10 / 5


@pytest.mark.parametrize("name", EXACT)
def test_all_of_cifar10_gives_the_official_file(name, benchmark, cifar10):
    found = benchmark.pedantic(official_sum, (cifar10, name), rounds=1)
    assert found == (checksums.CIFAR10_C[name], checksums.CIFAR10_C_BLOCKS[name])


@pytest.mark.parametrize("name", EXACT)
def test_all_of_cifar100_gives_the_official_file(name, benchmark, data_folder, monkeypatch):
    monkeypatch.setenv("BNNBENCH_DATA", str(data_folder))
    if missing := Cifar100().missing("test"):
        pytest.skip(f"real data: {missing[0]} is not there")
    images = np.ascontiguousarray(Cifar100().images("test")[0])
    found = benchmark.pedantic(official_sum, (images, name), rounds=1)
    assert found == (checksums.CIFAR100_C[name], checksums.CIFAR100_C_BLOCKS[name])

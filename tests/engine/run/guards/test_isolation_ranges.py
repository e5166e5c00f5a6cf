"""Addresses of read-only copies are known as long as the copies exist."""

import torch

from bnnbench.engine.run.guards import write_faults
from bnnbench.engine.run.guards.isolation import read_only


def test_the_addresses_of_a_copy_are_forgotten_with_it():
    before = list(write_faults.RANGES)
    copy = read_only(torch.ones(5))
    view = copy[2:]
    del copy
    (new,) = set(write_faults.RANGES) - set(before)
    assert new[0] < view.data_ptr() < new[1]
    del view
    assert before == write_faults.RANGES

"""Files of draws: their precision, and what they refuse."""

import io

import numpy as np
import pytest

from bnnbench.datasets.references.certificate import Refused
from bnnbench.datasets.references.draws import decoded, pack, thinned, unpack

CHAINS = np.random.default_rng(0).normal(size=(8, 500, 31)).cumsum(2)


def test_a_code_is_a_share_of_the_range():
    f = decoded(np.uint16([[12345]]), np.array([-1.5]), np.array([2.25]))
    assert f.item() == pytest.approx(-0.79360265506981, abs=1e-14)


def test_draws_come_back_to_a_hundredth_of_a_thousandth_of_their_range():
    draws = thinned(CHAINS, 0.1)
    again = unpack(pack(draws))
    assert np.abs(again.f - draws.f).max() <= np.ptp(draws.f, axis=0).max() / 65_535
    assert again.noise_std == 0.1
    assert np.array_equal(again.chain, np.repeat(np.arange(8), 125))
    assert np.array_equal(again.groups, draws.groups)
    assert np.allclose(np.linalg.norm(again.directions, axis=1), 1.0)


def test_kept_draws_are_evenly_spread_over_each_chain():
    iterations = np.broadcast_to(np.arange(500.0)[None, :, None], (8, 500, 1))
    draws = thinned(iterations + np.zeros((8, 500, 2)), 0.1)
    assert np.array_equal(draws.by_chain[3, :, 0], np.arange(3, 500, 4))


def test_groups_hold_different_test_rows():
    groups = thinned(CHAINS, 0.1).groups
    assert groups.shape == (100, 5)
    assert all(len(set(group)) == 5 for group in groups.tolist())


def test_a_file_of_a_thousand_draws_is_small():
    assert len(pack(thinned(CHAINS, 0.1))) < 100_000


def test_draws_that_are_not_finite_are_refused_with_their_row():
    f = thinned(CHAINS, 0.1)
    f.f[17, 4] = np.nan
    with pytest.raises(Refused, match="test row 4 are not finite"):
        pack(f)


def test_a_constant_row_is_refused():
    f = thinned(CHAINS, 0.1)
    f.f[:, 7] = 1.0
    with pytest.raises(Refused, match=r"test row 7 are 1\.0"):
        pack(f)


def test_few_draws_are_refused():
    with pytest.raises(Refused, match="at least 400 draws; got 80"):
        pack(thinned(CHAINS, 0.1, keep=80))


def changed(**arrays: np.ndarray) -> bytes:
    with np.load(io.BytesIO(pack(thinned(CHAINS, 0.1)))) as file:
        content = {name: file[name] for name in file.files}
    buffer = io.BytesIO()
    np.savez(buffer, **(content | arrays))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("arrays", "named"),
    [
        ({"codes": np.zeros((1000, 31))}, "codes"),
        ({"low": np.zeros(30)}, "low"),
        ({"chain": np.zeros(999, dtype=np.uint8)}, "chain"),
        ({"noise_std": np.array([0.0])}, "noise_std"),
        ({"groups": np.full((100, 5), 31, dtype=np.uint16)}, "groups"),
        ({"directions": np.zeros((64, 30), dtype=np.float32)}, "directions"),
        ({"extra": np.zeros(1)}, "extra"),
        ({"high": np.full(31, -np.inf)}, "not finite"),
    ],
)
def test_a_damaged_array_is_refused_by_name(arrays, named):
    with pytest.raises(Refused, match=named):
        unpack(changed(**arrays))


def test_other_bytes_are_refused():
    with pytest.raises(Refused, match="cannot be read"):
        unpack(b"no zip")

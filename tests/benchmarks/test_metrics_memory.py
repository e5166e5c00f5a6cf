"""Scoring 10 draws x 1e6 points x 10 classes needs less than 1 GB beyond the input."""

from tests.metrics.test_memory import growth


def test_a_million_points_need_less_than_a_gigabyte(project, benchmark):
    grown = benchmark.pedantic(growth, (project, 1_000_000), rounds=1)
    benchmark.extra_info["growth_bytes"] = grown
    assert grown < 1e9

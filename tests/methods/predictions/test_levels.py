from fractions import Fraction

from bnnbench.methods.predictions.levels import ceil_of, floor_of


def test_products_of_shares_and_counts_are_exact():
    for count in (*range(1, 120), 999, 1000, 10**6):
        for hundredth in range(101):
            exact = Fraction(hundredth, 100) * count
            assert floor_of(hundredth / 100, count) == exact.numerator // exact.denominator
            assert ceil_of(hundredth / 100, count) == -(-exact.numerator // exact.denominator)


def test_computed_shares_are_the_simple_fractions_within_their_rounding():
    assert ceil_of((1 - 0.9) / 2, 100) == 5
    assert ceil_of((1 - 0.95) / 2, 200) == 5
    assert floor_of(2 / 3, 300) == ceil_of(2 / 3, 300) == 200

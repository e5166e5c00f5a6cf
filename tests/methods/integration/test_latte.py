"""Problems as polytopes, and LattE integrale if it is installed."""

import stat
from fractions import Fraction

import pytest
import torch

from bnnbench.methods.base import PackageMissing
from bnnbench.methods.integration.integrals import density
from bnnbench.methods.integration.region import Affine, Box, Rectified
from tests.methods.integration.latte import Latte, h_representation, monomials
from tests.methods.integration.problems import HalfSpace, Piece, Problem, triangular_likelihood
from tests.methods.problems import stream

LOWER, UPPER = (Fraction(-1, 2), Fraction(-1, 5)), (Fraction(1, 2), Fraction(3, 10))
SLOPES, OFFSET, BASE = (Fraction(1), Fraction(-3, 4)), Fraction(1, 10), Fraction(1, 3)
OUTGOING, CONSTANT = Fraction(6, 5), Fraction(1, 4)
YS = (Fraction(-1, 10), Fraction(1, 4), Fraction(3, 5), Fraction(4))
CASES = [(y, kind) for y in YS for kind in ("affine", "rectified")]


def problem(y: Fraction, kind: str) -> Problem:
    split = (OUTGOING, CONSTANT) if kind == "rectified" else ()
    return triangular_likelihood(LOWER, UPPER, SLOPES, OFFSET, BASE, y, *split)


def real(*values: Fraction) -> torch.Tensor:
    return torch.tensor([float(value) for value in values], dtype=torch.float64)


def function(kind: str) -> Affine | Rectified:
    if kind == "affine":
        return Affine(real(OFFSET)[0], real(*SLOPES))
    return Rectified(real(CONSTANT)[0], real(OUTGOING), Affine(real(OFFSET), real(*SLOPES)[None]))


@pytest.mark.parametrize(("y", "kind"), CASES)
def test_the_pieces_of_a_problem_sum_to_the_likelihood_at_every_weight(y, kind):
    box = Box(real(*LOWER), real(*UPPER))
    weights = box.lower + box.widths * torch.rand(200, 2, generator=stream(1), dtype=torch.float64)
    inner = float(OFFSET) + weights @ real(*SLOPES)
    value = inner if kind == "affine" else float(CONSTANT) + float(OUTGOING) * inner.clamp(min=0)
    r = float(BASE)
    wanted = (1 / r - (float(y) - value).abs() / r**2).clamp(min=0)
    found = sum((weight_of(piece, weights) for piece in problem(y, kind)), torch.zeros(200))
    torch.testing.assert_close(found.double(), wanted, rtol=1e-12, atol=1e-12)


def weight_of(piece: Piece, points: torch.Tensor) -> torch.Tensor:
    """Return the polynomial inside the piece and 0 outside."""
    inside = torch.ones(len(points), dtype=torch.bool)
    for face in piece.faces:
        inside &= points @ real(*face.normal) <= float(face.bound)
    value = torch.zeros(len(points), dtype=torch.float64)
    for exponents, coefficient in piece.polynomial.items():
        value += float(coefficient) * (points ** torch.tensor(exponents)).prod(-1)
    return torch.where(inside, value, 0.0)


@pytest.mark.skipif(
    not Latte().available(), reason="LattE integrale: put its `integrate` on the path"
)
@pytest.mark.parametrize(("y", "kind"), CASES)
def test_latte_gives_the_density_times_the_volume(y, kind):
    box = Box(real(*LOWER), real(*UPPER))
    wanted = density(function(kind), box, real(BASE)[0], real(y)) * box.volume
    assert float(Latte().integrate(problem(y, kind))) == pytest.approx(float(wanted), abs=1e-13)


def test_polytopes_and_polynomials_are_written_in_integers():
    cut = HalfSpace((Fraction(1, 2), Fraction(-1, 3)), Fraction(5, 4))
    polynomial = {(0, 0): Fraction(1, 3), (2, 1): Fraction(-2)}
    piece = Piece((Fraction(0),) * 2, (Fraction(1), Fraction(3, 2)), (cut,), polynomial)
    rows = h_representation(piece).split("\n")
    assert rows == ["5 3", "0 1 0", "1 -1 0", "0 0 1", "3 0 -2", "15 -6 4", ""]
    assert monomials(polynomial) == "[[1/3,[0,0]],[-2,[2,1]]]\n"


def test_a_missing_executable_is_named_with_its_cure():
    with pytest.raises(PackageMissing, match=r"no-such-integrate.*install LattE"):
        Latte("no-such-integrate").integrate(problem(YS[1], "affine"))


@pytest.mark.parametrize(
    ("says", "wanted"),
    [("     Answer: 5/24", Fraction(5, 24)), ("Empty polytope or unbounded polytope!", 0)],
)
def test_answers_are_read_as_they_are(tmp_path, says, wanted):
    executable = tmp_path / "integrate"
    executable.write_text(f"#!/bin/sh\ntest -s polytope.hrep && echo '{says}'\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    assert Latte(str(executable)).integrate(problem(YS[1], "affine")[:1]) == wanted


def test_no_answer_is_an_error_with_what_was_said(tmp_path):
    executable = tmp_path / "integrate"
    executable.write_text("#!/bin/sh\necho codimension 1; exit 3\n")
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(RuntimeError, match=r"exit status 3(.|\n)*codimension"):
        Latte(str(executable)).integrate(problem(YS[1], "affine"))

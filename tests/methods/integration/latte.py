"""LattE integrale, if installed, as a solver of weighted model integration problems.

Source: De Loera et al. (2013), "Software for exact integration of polynomials over polyhedra".
"""

import math
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from bnnbench.methods.base import PackageMissing
from tests.methods.integration.problems import Piece, Polynomial, Problem

ANSWER = "Answer:"
EMPTY = re.compile(r"Empty polytope|Ax = b, given as .*\n=+\n\[-?\d")
"""Its messages on polytopes that are empty or have an equality: their volume is 0."""


@dataclass(frozen=True)
class Latte:
    """The executable `integrate`, called once per piece, with exact numbers throughout."""

    executable: str = "integrate"

    def available(self) -> bool:
        """Return whether the executable is on the path."""
        return shutil.which(self.executable) is not None

    def integrate(self, problem: Problem) -> Fraction:
        """Return the integral of the problem.

        Raises `PackageMissing` without the executable, and `RuntimeError` with its output if it
        gives no answer.
        """
        return sum((self._piece(piece) for piece in problem), Fraction(0))

    def _piece(self, piece: Piece) -> Fraction:
        found = shutil.which(self.executable)
        if found is None:
            raise PackageMissing(
                f"needed LattE's {self.executable!r} on the path: install LattE integrale, "
                "https://github.com/latte-int/latte"
            )
        polynomial = {e: c for e, c in piece.polynomial.items() if c}
        if not polynomial:
            return Fraction(0)
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "polytope.hrep").write_text(h_representation(piece))
            Path(folder, "polynomial").write_text(monomials(polynomial))
            command = [found, "--valuation=integrate", "--cone-decompose"]
            command += ["--monomials=polynomial", "polytope.hrep"]
            # It calls other programs in its own folder.
            path = f"{Path(found).resolve().parent}{os.pathsep}{os.environ.get('PATH', '')}"
            done = subprocess.run(
                command, cwd=folder, env=os.environ | {"PATH": path},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        return _answer(done.stdout + done.stderr, done.returncode)


def h_representation(piece: Piece) -> str:
    """Return the faces in LattE's format: rows b, -a in integers, for a · x ≤ b."""
    rows = []
    for face in piece.faces:
        row = (face.bound, *(-a for a in face.normal))
        scale = math.lcm(*(value.denominator for value in row))
        rows.append(" ".join(str(int(value * scale)) for value in row))
    return "\n".join([f"{len(rows)} {len(piece.lower) + 1}", *rows, ""])


def monomials(polynomial: Polynomial) -> str:
    """Return the polynomial in LattE's format: a list of coefficients with their exponents."""
    terms = (f"[{c},[{','.join(map(str, e))}]]" for e, c in polynomial.items())
    return f"[{','.join(terms)}]\n"


def _answer(output: str, status: int) -> Fraction:
    if EMPTY.search(output):
        return Fraction(0)
    answers = [line.split(ANSWER)[1] for line in output.splitlines() if ANSWER in line]
    if len(answers) != 1:
        said = output.strip()[-500:]
        raise RuntimeError(f"LattE gave no answer (exit status {status}); it said\n{said}")
    return Fraction(answers[0].strip())

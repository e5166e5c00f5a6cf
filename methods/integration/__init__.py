"""Weighted model integration over boxes: exact, in closed form, of piecewise polynomials.

`region`: boxes, and functions that are affine on them or split them at the kinks of ReLUs.
`weights`: piecewise polynomials of such a function. `integrals`: volume, expectation, density.
All rests on `sums`: sums of independent uniforms and the antiderivatives of their density.
"""

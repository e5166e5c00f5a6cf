"""Weighted model integration over boxes: exact and in closed form, for piecewise polynomials.

`region`: boxes, and functions that are affine on them or split them at the kinks of ReLUs.
`weights`: piecewise polynomials of such a function. `integrals`: volume, expectation, density.
All build on `sums`: sums of independent uniforms and the antiderivatives of their density.
"""

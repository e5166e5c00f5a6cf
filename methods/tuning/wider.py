"""Wider search spaces, for suites whose runs are not compared with searches of the declared ones.

In stored searches, choices often lie in the outer tenth of these distributions, and held-out scores
still rise towards it. All folds use the same trials, so that such a share may also say where a
single good trial is: not widened are the weight decay of IVON and of networks under Laplace's
approximation, which has no effect at its low end; the prior deviation of MFVI, whose good trials at
the high end are the ones of a small initial deviation; and the damping of message passing, whose
high end is none. Lengths that a method states get one more doubling. Gradient descent does not: on
small tables 800 epochs, often chosen, are no better than 400, and on large ones `Tuned.updates` is
the limit.
"""

from collections.abc import Mapping
from dataclasses import replace

from bnnbench.methods.tuning.space import Law, Log, OneMinusLog, Single, Space, last_part

WIDER: Mapping[tuple[str, Law], Law] = {
    ("beta2", OneMinusLog(1e-5, 1e-2)): OneMinusLog(1e-6, 1e-2),
    ("initial_std", Log(1e-4, 0.1)): Log(1e-5, 0.1),
    ("low", Log(0.05, 1.0)): Log(5e-3, 1.0),
    ("prior_precisions", Single(Log(1e-2, 1e4))): Single(Log(1e-2, 1e6)),
    ("rate", Log(1e-3, 0.3)): Log(1e-3, 0.6),
    ("weight_decay", Log(1e-4, 3.0)): Log(1e-4, 30.0),
    ("weight_decay", Log(1e-6, 1e-2)): Log(1e-6, 0.1),
}
"""Last part of a setting's path and its declared distribution → the wider one.

IVON, MFVI, trajectories with a high and a low learning rate, Laplace, MC dropout, AdamW, SGD.
"""


def wider(space: Space) -> Space:
    """Return the space with the wider distributions and one more length."""
    fields = {path: WIDER.get((last_part(path), law), law) for path, law in space.fields.items()}
    longer = tuple(2 * length for length in space.lengths[-1:])
    return replace(space, fields=fields, lengths=space.lengths + longer)

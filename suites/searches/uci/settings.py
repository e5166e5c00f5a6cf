"""Networks and candidates used by more than one profile of the search."""

from bnnbench.methods.adamw import AdamW
from bnnbench.methods.networks.catalogue import mlp

ADAMW = {
    f"AdamW lr={rate:g} wd={decay:g}": AdamW(rate, decay, epochs=40, batch_size=32)
    for rate in (1e-2, 3e-2)
    for decay in (1e-2, 1e-1)
}

NETWORK = mlp([50], outputs=1)

"""Train the network whose features the suite `features` gives to heads: `python -m
docs.generate.backbone`, about half a core-hour.

It writes `datasets/cuts/backbone.npz`, and goes on after an interruption.
"""

import argparse
import io
import time
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bnnbench.datasets.cuts import backbone
from bnnbench.datasets.official.cifar10 import Cifar10
from bnnbench.datasets.reading.images import as_inputs
from bnnbench.datasets.reading.whole_files import write_whole

EPOCHS, BATCH, RATE, DECAY, SMOOTHING = 40, 256, 0.4, 5e-4, 0.1
SHIFT = 3
"""Largest shift of a training image, in pixels."""


def main() -> None:
    """Train, print the test accuracy of every tenth epoch, and write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state", type=Path, default=Path("results/backbone.pt"))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    state: Path = options.state
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    network = nn.Sequential(backbone.layers(), nn.Linear(backbone.WIDTHS[-1], 10))
    network.to(memory_format=torch.channels_last)
    pictures, labels = Cifar10().images("train")
    images = as_inputs(pictures[backbone.UNSEEN :], backbone.SCALING)
    targets = torch.from_numpy(labels[backbone.UNSEEN :].astype(np.int64))
    steps = len(images) // BATCH * EPOCHS
    optimiser = torch.optim.SGD(
        network.parameters(), RATE, momentum=0.9, weight_decay=DECAY, nesterov=True
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimiser, RATE, total_steps=steps, pct_start=0.2, anneal_strategy="linear"
    )
    parts = {"network": network, "optimiser": optimiser, "schedule": schedule}
    first = _restored(state, parts)
    for epoch in range(first, EPOCHS):
        start = time.process_time()
        for rows in torch.randperm(len(images)).split(BATCH)[:-1]:
            optimiser.zero_grad()
            with torch.autocast("cpu", torch.bfloat16):
                outputs = network(_augmented(images[rows]))
            functional.cross_entropy(
                outputs.float(), targets[rows], label_smoothing=SMOOTHING
            ).backward()
            optimiser.step()
            schedule.step()
        _save(state, parts, epoch + 1)
        accuracy = f", test accuracy {_accuracy(network):.4f}" if epoch % 10 == 9 else ""
        print(f"epoch {epoch + 1}: {time.process_time() - start:.0f} s{accuracy}", flush=True)
    print(f"test accuracy {_accuracy(network):.4f}")
    _write(network[0])


def _augmented(images: Tensor) -> Tensor:
    """Return the images shifted at random, one shift for each eighth of the batch, and flipped."""
    padded = functional.pad(images, (SHIFT,) * 4, mode="reflect")
    parts = []
    for part in padded.chunk(8):
        top, left = torch.randint(2 * SHIFT + 1, (2,)).tolist()
        parts.append(part[:, :, top : top + 32, left : left + 32])
    moved = torch.cat(parts)
    flipped = torch.rand(len(moved), 1, 1, 1) < 0.5
    return torch.where(flipped, moved.flip(3), moved).contiguous(memory_format=torch.channels_last)


def _accuracy(network: nn.Sequential) -> float:
    network.eval()
    pictures, labels = Cifar10().images("test")
    classes = backbone.computed(network, pictures).argmax(1)
    network.train()
    return float((classes == labels).mean())


def _save(path: Path, parts: dict, epoch: int) -> None:
    content = io.BytesIO()
    states = {name: part.state_dict() for name, part in parts.items()}
    torch.save({**states, "epoch": epoch, "stream": torch.get_rng_state()}, content)
    write_whole(path, content.getvalue())


def _restored(path: Path, parts: dict) -> int:
    """Return the first epoch left to do, with all parts as they were before it."""
    if not path.exists():
        return 0
    saved = torch.load(path, weights_only=True)
    for name, part in parts.items():
        part.load_state_dict(saved[name])
    torch.set_rng_state(saved["stream"])
    return saved["epoch"]


def _write(body: nn.Module) -> None:
    """Write the weights in half precision, and batch statistics in single precision."""
    content = io.BytesIO()
    arrays = {
        name: (value.half() if value.ndim > 1 else value).numpy()
        for name, value in body.state_dict().items()
    }
    np.savez_compressed(content, **arrays)
    write_whole(backbone.WEIGHTS, content.getvalue())


if __name__ == "__main__":
    main()

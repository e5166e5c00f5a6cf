"""Lossless compression of a CIFAR pickle to half its size: its images become lossless WebP.

The images of such a pickle are contiguous bytes: 32 x 32 pixels each, red before green before
blue. They are stacked vertically in strips and cut out of the pickle; the rest is compressed by
xz.
"""

import io
import json
import lzma
import pickle

import numpy as np
from jaxtyping import UInt8

from bnnbench.datasets.reading import pickles
from bnnbench.datasets.reading.bounded import LARGEST, require_size, unxz

SIDE, CHANNELS = 32, 3
IN_A_STRIP = 500
"""Images per strip: WebP allows at most 16,383 pixels per side."""
METHOD, QUALITY = 3, 50
"""Effort of WebP's encoder: 2 % larger than with the maximum, in a fiftieth of the time."""


def encode(content: bytes) -> bytes | None:
    """Return the encoded content of a CIFAR pickle; None for any other file."""
    images = _images(content)
    if images is None:
        return None
    block = images.tobytes()
    at = content.find(block)
    if at < 0:
        return None
    strips = [_drawn(images[k : k + IN_A_STRIP]) for k in range(0, len(images), IN_A_STRIP)]
    rest = lzma.compress(content[:at] + content[at + len(block) :])
    head = {"at": at, "strips": [len(strip) for strip in strips]}
    return json.dumps(head).encode() + b"\n" + b"".join(strips) + rest


def decode(coded: bytes, most: int = LARGEST) -> bytes:
    """Return the content that was encoded, of at most `most` bytes; ValueError for other bytes."""
    line, _, body = coded.partition(b"\n")
    try:
        head = json.loads(line)
        blocks: list[bytes] = []
        for length in head["strips"]:
            blocks.append(_seen(body[:length]))
            body = body[length:]
            require_size(sum(map(len, blocks)), most, "it")
        rest, at = unxz(body, most), head["at"]
        return b"".join([rest[:at], *blocks, rest[at:]])
    except (OSError, KeyError, TypeError, EOFError, lzma.LZMAError) as error:
        raise ValueError(f"not encoded images: {error}") from error


def _images(content: bytes) -> UInt8[np.ndarray, "images values"] | None:
    if not content.startswith(b"\x80"):
        return None
    try:
        pickled = pickles.load(content)
    except (pickle.UnpicklingError, EOFError, ValueError, IndexError, AttributeError):
        return None
    images = pickled.get("data") if isinstance(pickled, dict) else None
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8 or not len(images):
        return None
    return images if images.shape[1:] == (SIDE * SIDE * CHANNELS,) else None


def _drawn(images: UInt8[np.ndarray, "images values"]) -> bytes:
    """Return a strip of images as the bytes of a WebP file."""
    from PIL import Image

    planes = images.reshape(-1, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)
    strip = np.ascontiguousarray(planes).reshape(-1, SIDE, CHANNELS)
    file = io.BytesIO()
    Image.fromarray(strip).save(file, "WEBP", lossless=True, method=METHOD, quality=QUALITY)
    return file.getvalue()


def _seen(file: bytes) -> bytes:
    """Return the bytes of a strip's images in the pickle's layout."""
    from PIL import Image

    with Image.open(io.BytesIO(file), formats=["WEBP"]) as image:
        if image.width != SIDE or image.height > IN_A_STRIP * SIDE:
            raise ValueError(f"not a strip of images: it has {image.width} x {image.height} pixels")
        strip = np.asarray(image)
    if strip.shape[1:] != (SIDE, CHANNELS) or len(strip) % SIDE:
        raise ValueError(f"not a strip of images: its shape is {strip.shape}")
    planes = strip.reshape(-1, SIDE, SIDE, CHANNELS).transpose(0, 3, 1, 2)
    return planes.tobytes()

"""One image under every corruption at every severity, on one sheet."""

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageDraw

from bnnbench.datasets.corruptions import CORRUPTIONS, corrupt
from bnnbench.datasets.corruptions.constants import SEVERITIES
from bnnbench.datasets.corruptions.levels import SIDE

ENLARGED = 3
MARGIN = 4
LABEL_WIDTH = 150
LINE = 20
FONT = 15


def contact_sheet(image: UInt8[np.ndarray, "32 32 3"], seed: int = 0) -> Image.Image:
    """Return a picture with one row per corruption: the image, then severities 1 to 5."""
    tile = SIDE * ENLARGED
    pitch = tile + MARGIN
    columns = 1 + len(SEVERITIES)
    size = LABEL_WIDTH + columns * pitch, LINE + len(CORRUPTIONS) * pitch
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    for column, title in enumerate(("clean", *map(str, SEVERITIES))):
        draw.text((LABEL_WIDTH + column * pitch, 1), title, "black", font_size=FONT)
    for row, name in enumerate(CORRUPTIONS):
        top = LINE + row * pitch
        draw.text((MARGIN, top + (tile - FONT) // 2), name, "black", font_size=FONT)
        tiles = [image, *(corrupt(image[None], name, s, seed)[0] for s in SEVERITIES)]
        for column, levels in enumerate(tiles):
            large = Image.fromarray(levels).resize((tile, tile), Image.Resampling.NEAREST)
            sheet.paste(large, (LABEL_WIDTH + column * pitch, top))
    return sheet

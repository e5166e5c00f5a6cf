"""Hue, saturation and value, bitwise equal to those of the program behind the official files."""

import numpy as np
from jaxtyping import Float

Plane = Float[np.ndarray, "points 32 32"]


def hue_saturation_value(
    x: Float[np.ndarray, "points 32 32 3"],
) -> tuple[Plane, Plane, Plane]:
    """Return hue in sixths of the circle, from 0 to 6, saturation and value."""
    red, green, blue = (np.ascontiguousarray(x[..., channel]) for channel in range(3))
    value = np.maximum(np.maximum(red, green), blue)
    spread = value - np.minimum(np.minimum(red, green), blue)
    grey = spread == 0
    divisor = np.where(grey, 1.0, spread)
    hue = np.where(red == value, (green - blue) / divisor, 0.0)
    hue = np.where(green == value, 2 + (blue - red) / divisor, hue)
    hue = np.where(blue == value, 4 + (red - green) / divisor, hue)
    hue = np.where(grey, 0.0, hue / 6 % 1)
    return hue * 6, spread / np.where(grey, 1.0, value), value


def from_hsv(hue: Plane, saturation: Plane, value: Plane) -> Float[np.ndarray, "points 32 32 3"]:
    """Return red, green and blue from hue (in sixths of the circle), saturation and value."""
    sector = np.floor(hue)
    part = hue - sector
    low = value * (1 - saturation)
    falling = value * (1 - part * saturation)
    rising = value * (1 - (1 - part) * saturation)
    orders = np.stack([value, falling, low, rising], axis=-1)
    order = _ORDER[sector.astype(np.intp) % 6]
    return np.take_along_axis(orders, order, axis=-1)


_VALUE, _FALLING, _LOW, _RISING = range(4)
_ORDER = np.array(
    [
        (_VALUE, _RISING, _LOW),
        (_FALLING, _VALUE, _LOW),
        (_LOW, _VALUE, _RISING),
        (_LOW, _FALLING, _VALUE),
        (_RISING, _LOW, _VALUE),
        (_VALUE, _LOW, _FALLING),
    ]
)
"""The order of red, green and blue in each sixth of the circle."""

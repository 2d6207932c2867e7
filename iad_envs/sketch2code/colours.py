"""Perceptual colour difference: CIEDE2000 (Sharma, Wu and Dalal, 2005) between sRGB colours, under D65."""

import math
from collections.abc import Sequence

import numpy as np

TO_XYZ = np.array([[0.412424, 0.357579, 0.180464], [0.212656, 0.715158, 0.0721856], [0.0193324, 0.119193, 0.950444]])
WHITE_XYZ = np.array([0.95047, 1.0, 1.08883])


def colour_difference(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the CIEDE2000 difference of two colours, given as red, green and blue from 0 to 255."""
    l1, a1, b1 = _lab(one)
    l2, a2, b2 = _lab(other)
    chroma = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(chroma**7 / (chroma**7 + 25**7)))
    c1, c2 = math.hypot((1 + g) * a1, b1), math.hypot((1 + g) * a2, b2)
    h1, h2 = _hue((1 + g) * a1, b1), _hue((1 + g) * a2, b2)
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    if abs(turn) == 180:
        turn = h2 - h1
    d_l, d_c, d_h = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    lightness, c = (l1 + l2) / 2, (c1 + c2) / 2
    h = h1 + h2 if c1 * c2 == 0 else (h1 + h2) / 2 if abs(h1 - h2) <= 180 else ((h1 + h2 + 360) / 2) % 360
    t = (
        1
        - 0.17 * math.cos(math.radians(h - 30))
        + 0.24 * math.cos(math.radians(2 * h))
        + 0.32 * math.cos(math.radians(3 * h + 6))
        - 0.20 * math.cos(math.radians(4 * h - 63))
    )
    s_l = 1 + 0.015 * (lightness - 50) ** 2 / math.sqrt(20 + (lightness - 50) ** 2)
    s_c, s_h = 1 + 0.045 * c, 1 + 0.015 * c * t
    rotation = -2 * math.sqrt(c**7 / (c**7 + 25**7)) * math.sin(math.radians(60 * math.exp(-(((h - 275) / 25) ** 2))))
    parts = (d_l / s_l, d_c / s_c, d_h / s_h)
    return math.sqrt(max(0.0, sum(part**2 for part in parts) + rotation * parts[1] * parts[2]))


def _lab(colour: Sequence[float]) -> tuple[float, float, float]:
    rgb = np.asarray(colour, dtype=np.float64) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ linear / WHITE_XYZ
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return float(116 * y - 16), float(500 * (x - y)), float(200 * (y - z))


def _hue(a: float, b: float) -> float:
    return math.degrees(math.atan2(b, a)) % 360

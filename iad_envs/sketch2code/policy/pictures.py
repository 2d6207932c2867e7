"""Prepares pictures for a model."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any

from iad_envs.browser.images import Image, encoded, opencv

Screenshot = Callable[[str], Image | None]
"""Function that renders HTML to a picture (height, width, 3), or returns None if it can't be rendered."""
LONG_SIDE_PX = 2000
"""Maximum length of a picture for a model, as in Sketch2Code."""
PAGE_WIDTH_PX = 1280
"""Width of a page in the browser."""


def image_part(picture: Image, scale: float | None = None) -> dict[str, Any]:
    """Return a picture as part of a message.

    Args:
        picture: The picture, shape (height, width, 3).
        scale: Scale at which it is sent, so that it can be compared with another picture. What is then beyond 2000
            pixels is cut off. By default it has at most 768 pixels on the short side and 2000 on the long one.
    """
    cv2 = opencv()
    height, width = sent_size(*picture.shape[:2])
    if scale is not None:
        height, width = (max(1, round(side * scale)) for side in picture.shape[:2])
    small = cv2.resize(picture, (width, height), interpolation=cv2.INTER_AREA)[:LONG_SIDE_PX, :LONG_SIDE_PX]
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{b64encode(encoded(small)).decode()}"}}


def sent_size(height: int, width: int) -> tuple[int, int]:
    """Return the height and width at which a picture is sent to a model."""
    scale = min(1.0, 768 / min(height, width), LONG_SIDE_PX / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def page_scale(height: int, width: int) -> float:
    """Return the scale at which a page is as large as its sketch, whose height and width are given, as it is sent."""
    return sent_size(height, width)[1] / PAGE_WIDTH_PX

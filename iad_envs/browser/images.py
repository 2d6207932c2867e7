"""Reads and combines pictures as arrays. Needs OpenCV from the extra `sketch2code`."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iad_envs.errors import DataNotFound
from webshop_server.extras import extra_command

Image = NDArray[np.uint8]
"""Picture as an array (height, width, 3) with red, green and blue."""


def opencv() -> Any:
    """Import and return OpenCV.

    Raises:
        ModuleNotFoundError: OpenCV is not installed. The error text says how to install it.
    """
    try:
        import cv2
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"expected OpenCV for pictures, found none; install it with: {extra_command('sketch2code')}"
        ) from error
    return cv2


def decoded(data: bytes, name: str) -> Image:
    """Decode a picture from the bytes of a file.

    Raises:
        DataNotFound: The file is not a picture.
    """
    cv2 = opencv()
    found = cv2.imdecode(np.frombuffer(data, dtype=np.uint8), cv2.IMREAD_COLOR) if data else None
    if found is None:
        raise DataNotFound(
            f"expected {name} to be a picture, got {len(data)} bytes of another format; get the file again"
        )
    return np.asarray(cv2.cvtColor(found, cv2.COLOR_BGR2RGB), dtype=np.uint8)


def encoded(image: Image) -> bytes:
    """Encode a picture as PNG."""
    cv2 = opencv()
    return bytes(cv2.imencode(".png", cv2.cvtColor(image, cv2.COLOR_RGB2BGR))[1].tobytes())


def letterboxed(image: Image, size: tuple[int, int]) -> tuple[Image, tuple[int, int]]:
    """Scale a picture into the top left of a white frame of `size` (height, width), and return its new size too."""
    cv2 = opencv()
    height, width = image.shape[:2]
    scale = min(size[0] / height, size[1] / width)
    fitted = (max(1, round(width * scale)), max(1, round(height * scale)))
    small = cv2.resize(image, fitted, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    frame = np.full((*size, 3), 255, dtype=np.uint8)
    frame[: small.shape[0], : small.shape[1]] = small
    return frame, (small.shape[0], small.shape[1])


def written(text: str, size: tuple[int, int]) -> Image:
    """Write a text in lines on a white picture of `size` (height, width). What does not fit is cut off."""
    cv2 = opencv()
    frame = np.full((*size, 3), 255, dtype=np.uint8)
    char_px, line_px = 8, 14
    for number, line in enumerate(wrap(text, max(1, size[1] // char_px - 2)), start=1):
        cv2.putText(frame, line, (char_px, line_px * number), cv2.FONT_HERSHEY_SIMPLEX, 0.4, (0, 0, 0), 1, cv2.LINE_AA)
    return frame


def side_by_side(images: Sequence[Image], *, gap: int = 8) -> Image:
    """Join pictures of equal height in a row, with a gap between them."""
    between = np.full((images[0].shape[0], gap, 3), 128, dtype=np.uint8)
    parts = [part for image in images for part in (image, between)][:-1]
    return np.concatenate(parts, axis=1)

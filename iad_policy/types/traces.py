"""Says where in users' code an error was raised."""

import sysconfig
import traceback
from types import FrameType

from iad_policy.types.names import OURS
from iad_policy.types.secrets import masked

MOST = 4000
"""Characters of a traceback that are kept, from its end."""


def place_of(error: BaseException) -> str:
    """Return the last place in users' code, ` (myagents.py, line 12, in propose)`; "" if the error passed through none.

    Users' code is neither this project's nor Python's nor that of an installed package.
    """
    places = [
        f" ({frame.f_code.co_filename.rpartition('/')[2]}, line {line}, in {frame.f_code.co_name})"
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _is_users(frame)
    ]
    return places[-1] if places else ""


def traceback_of(error: BaseException) -> str:
    """Return an error's traceback, with those of its causes; of a long one the end. Secrets are replaced first."""
    return masked("".join(traceback.format_exception(error)))[-MOST:]


def _is_users(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    installed = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    is_ours = str(frame.f_globals.get("__name__", "")).partition(".")[0] in OURS
    return not (is_ours or file.startswith((*installed, "<")))

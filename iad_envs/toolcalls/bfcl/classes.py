"""The official simulated classes, from the user's copy of the package `bfcl-eval`, whose data they are here."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import RLock

from iad_envs.errors import DataNotFound, require_known
from iad_envs.toolcalls.bfcl.precautions import OFFICIAL
from iad_envs.toolcalls.executor import Toolbox
from iad_envs.toolcalls.user_code import UserModules

INSTALL = "pip install --no-deps bfcl-eval==2026.3.23"
FILES: Mapping[str, str] = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "TwitterAPI": "posting_api",
    "VehicleControlAPI": "vehicle_control",
}
"""Class -> the file that has it, without `.py`."""
_FOLDER = Path("eval_checker", "multi_turn_eval", "func_source_code")
_LOCK = RLock()
"""Classes of one file share tables that they change, and the precision of numbers belongs to the whole process."""


class OfficialClasses:
    """The simulated classes in a folder, each loaded when it is first asked for.

    Args:
        folder: The folder `bfcl_eval` of the package.

    Raises:
        DataNotFound: The folder has no simulated classes.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / _FOLDER).is_dir():
            raise DataNotFound(
                f"expected the folder bfcl_eval of the package bfcl-eval, with {_FOLDER}, got {folder}; run {INSTALL}"
                " and give the folder bfcl_eval that it installs as data_dir"
            )
        self._modules = _modules(folder.resolve())

    def __getitem__(self, name: str) -> type:
        """Return a class by name.

        Raises:
            UnknownTask: There is no class of that name.
            DataNotFound: Its file is missing.
            Unavailable: A package that it imports is not installed.
        """
        require_known("simulated class", name, FILES)
        kind: type = getattr(self._modules[_FOLDER / f"{FILES[name]}.py"], name)
        return kind

    def toolbox(self, names: Sequence[str]) -> Toolbox:
        """Return the functions of some classes."""
        return Toolbox({name: self[name] for name in names}, precautions=OFFICIAL, lock=_LOCK)


@cache
def _modules(folder: Path) -> UserModules:
    needs = f'run pip install "iad[bfcl]", and {INSTALL} for the classes themselves'
    return UserModules(folder, "bfcl_eval", how_to_get=f"run {INSTALL} again", needs=needs)

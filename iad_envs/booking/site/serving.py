"""Serves the booking site."""

from pathlib import Path

from iad_envs.booking.env import load_engine
from iad_envs.booking.site.app import BookingSite, create_app
from iad_envs.booking.state import BookingState
from iad_envs.booking.tasks import load_tasks
from iad_envs.data import data_folder
from iad_envs.errors import require_known
from webshop_server.site.server import LOOPBACK, Server, announcement


def host_booking(
    data_dir: str | Path | None = None, *, split: str | None = None, host: str = LOOPBACK, port: int = 3000
) -> Server:
    """Start a server of the booking site.

    Args:
        data_dir: Folder with the restaurants and tasks, as in `IAD/Booking-v0`.
        split: The split whose tasks visitors get. None means all splits.
        host: The address to bind to.
        port: The first port to try.

    Raises:
        UnknownTask: There is no such split.
        DataNotFound: The folder has no such data.
    """
    folder = data_folder("booking", data_dir).resolve()
    return Server(create_app(BookingSite(load_engine(folder), starts_of(folder, split))), host=host, port=port)


def starts_of(folder: Path, split: str | None) -> list[BookingState]:
    """Return the first states of the tasks of a split in their order, of all tasks for None."""
    engine, tasks = load_engine(folder), load_tasks(folder).values()
    if split is not None:
        require_known("split", split, dict.fromkeys(task.split for task in tasks))
    chosen = [task for task in tasks if split in (None, task.split)]
    return [engine.start(task.scene, task.city, task.reservations) for task in chosen]


def open_booking_site(data_dir: str | Path | None, *, split: str, host: str, port: int) -> tuple[Server, str]:
    """Start a server of the booking site, and return it with a message for the terminal. See `host_booking`."""
    server = host_booking(data_dir, split=split, host=host, port=port)
    return server, announcement("The booking site is open", server, port)

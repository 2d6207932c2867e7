"""Serves the booking site."""

from pathlib import Path

from iad_envs.booking.env import load_engine
from iad_envs.booking.site.app import BookingSite, create_app
from iad_envs.booking.tasks import load_tasks
from iad_envs.data import data_folder
from iad_envs.errors import require_known
from webshop_server.site.server import Server, announcement


def open_booking_site(data_dir: str | Path | None, *, split: str, host: str, port: int) -> tuple[Server, str]:
    """Start a server of the booking site, and return it with a message for the terminal.

    Args:
        data_dir: Folder with the restaurants and tasks, as in `IAD/Booking-v0`.
        split: The split whose tasks visitors get, in their order.
        host: The address to bind to.
        port: The first port to try.

    Raises:
        UnknownTask: There is no such split.
        DataNotFound: The folder has no such data.
    """
    folder = data_folder("booking", data_dir).resolve()
    engine, tasks = load_engine(folder), load_tasks(folder).values()
    require_known("split", split, dict.fromkeys(task.split for task in tasks))
    starts = [engine.start(task.scene, task.city, task.reservations) for task in tasks if task.split == split]
    server = Server(create_app(BookingSite(engine, starts)), host=host, port=port)
    return server, announcement("The booking site is open", server, port)

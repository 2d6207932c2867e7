"""Checks the MariaDB or MySQL server at the default address, an alternative to SQLite."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from iad_envs.bird.mysql import probe, pymysql
from iad_envs.requirements import Missing, Requirement

SERVER = {
    "apt-get": "mariadb-server",
    "dnf": "mariadb-server",
    "pacman": "mariadb",
    "zypper": "mariadb",
    "brew": "mariadb",
}
PLACES: tuple[Mapping[str, Any], ...] = (
    *({"unix_socket": path} for path in ("/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/tmp/mysql.sock")),
    {"host": "127.0.0.1"},
)


def starting(platform: str = sys.platform, root: Path = Path("/")) -> Mapping[str, str]:
    """Return the command that starts the installed server, or nothing if none is installed as a service.

    Debian's `mariadb-server-core` has the program without a service: it is for those who start it themselves.
    """
    if platform == "darwin":
        return {"command": "brew services start mariadb"} if shutil.which("mariadbd") else {}
    for service in ("mariadb", "mysql", "mysqld"):
        if (root / "etc/init.d" / service).exists():
            return {"root": f"service {service} start"}
        folders = ("lib/systemd/system", "usr/lib/systemd/system", "etc/systemd/system")
        if any((root / folder / f"{service}.service").exists() for folder in folders):
            return {"root": f"systemctl start {service}"}
    return {}


def answers(driver: Any, limit_s: float, places: Sequence[Mapping[str, Any]] = PLACES) -> bool:
    """Whether a server answers at one of the places, given as arguments of PyMySQL, even if it lets nobody in."""
    for place in places:
        try:
            probe(place)
            driver.connect(**place, connect_timeout=limit_s, read_timeout=limit_s).close()
        except driver.err.OperationalError as error:
            if error.args[0] not in (1044, 1045, 1129, 1130, 1698):  # it is there but does not let this user in
                continue
        except OSError:
            continue
        except RuntimeError:
            pass  # it asks for a password in a way that needs another package
        return True
    return False


def _mysql(limit_s: float) -> str:
    try:
        driver = pymysql()
    except ModuleNotFoundError as error:
        raise Missing({"extra": "mysql", **(starting() or SERVER)}, "no pymysql") from error
    if not answers(driver, max(1.0, limit_s / (1 + len(PLACES)))):
        raise Missing(starting() or SERVER, "no server")
    return f"PyMySQL {driver.__version__}, a server answers at the usual place"


MYSQL = Requirement("MySQL", _mysql, "BIRD's dialect='mysql'")

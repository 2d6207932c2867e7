"""What needs no server: a server's addresses, and which texts are sent to MySQL."""

from pathlib import Path

import pytest

from iad_envs.bird.mysql import address, refused
from iad_envs.requirements.mysql import starting
from tests.full.sql_attacks import REFUSED


def test_an_address_has_the_parts_of_an_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    parts = {"host": "db.example", "port": 3307, "user": "iad_reader", "password": "a@b", "database": "bird"}
    assert address("mysql://iad_reader:a%40b@db.example:3307/bird?ssl_ca=/ca.pem") == {**parts, "ssl_ca": "/ca.pem"}
    local = {"user": "me", "host": "localhost", "unix_socket": "/run/s", "ssl_disabled": True}
    assert address("mariadb://me@localhost/?unix_socket=/run/s") == local
    monkeypatch.setenv("MYSQL_PWD", "secret")
    assert address("mysql://me@h")["password"] == "secret"


@pytest.mark.parametrize(("dsn", "said"), [
    ("dbname=bird user=me", "starts with 'dbname=b'"), ("mysql://me@h:many/", "can't be read"),
    ("mysql://me@h/?autocommit=1", "autocommit.*ssl_ca, ssl_cert, ssl_key, unix_socket"),
    ("mysql://me@h/?unix_socket", "can't be read"),
])  # fmt: skip
def test_what_is_no_address_is_said_without_its_password(dsn: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        address(dsn.replace("me@", "me:hush@"))
    assert "hush" not in str(raised.value)


def test_no_statement_but_a_query_is_sent_to_mysql_and_comments_are_read_in_linear_time() -> None:
    by_the_server = ("the queries of others by name", "writing a file", "writing a blob", "into a variable")
    by_the_server = (*by_the_server, "locking rows", "users", "passwords")
    assert {name for name, sql in REFUSED["mysql"].items() if not refused(sql)} == {*by_the_server}
    for sql in ("SELECT 1", "/* a */-- b\n#c\n ((select 1))", "with a as (select 1) table a", "VALUES(1)"):
        assert refused(sql) == ""
    assert refused("/* " * 30_000 + "SELECT 1") == "/"
    assert refused("( " * 500_000 + "KILL 1") == "KILL"


def test_a_server_that_is_no_service_is_not_started_as_one(tmp_path: Path) -> None:
    assert starting("linux", tmp_path) == {}
    (tmp_path / "usr/lib/systemd/system").mkdir(parents=True)
    (tmp_path / "usr/lib/systemd/system/mysqld.service").touch()
    assert starting("linux", tmp_path) == {"root": "systemctl start mysqld"}
    (tmp_path / "etc/init.d").mkdir(parents=True)
    (tmp_path / "etc/init.d/mariadb").touch()
    assert starting("linux", tmp_path) == {"root": "service mariadb start"}

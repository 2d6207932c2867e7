"""What needs no MySQL server: addresses, which texts are sent to one, and names in its dialect."""

import re
from pathlib import Path

import pytest

from iad_envs.bird.mysql import address, refused
from iad_envs.bird.policy.rendering import with_composite_keys
from iad_envs.bird.schema import ForeignKey, Schema, Table, quoted_if_needed, render_ddl_with_samples
from iad_envs.bird.sql import is_volatile
from iad_envs.requirements.mysql import starting
from tests.full.mysql_attacks import REFUSED


def test_an_address_has_the_parts_of_an_url(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MYSQL_PWD", raising=False)
    assert address("mysql://iad_reader:a%40b@db.example:3307/bird?ssl_ca=/ca.pem") == {
        "host": "db.example",
        "port": 3307,
        "user": "iad_reader",
        "password": "a@b",
        "database": "bird",
        "ssl_ca": "/ca.pem",
    }
    local = {"user": "me", "host": "localhost", "unix_socket": "/run/s", "ssl_disabled": True}
    assert address("mariadb://me@localhost/?unix_socket=/run/s") == local
    monkeypatch.setenv("MYSQL_PWD", "secret")
    assert address("mysql://me@h")["password"] == "secret"


@pytest.mark.parametrize(
    ("dsn", "said"),
    [
        ("dbname=bird user=me", "got one that starts with 'dbname=b'"),
        ("mysql://me@h:many/", "got one that can't be read (Port could not be cast"),
        ("mysql://me@h/?autocommit=1", "got the option 'autocommit'; known: ssl_ca, ssl_cert, ssl_key, unix_socket"),
        ("mysql://me@h/?unix_socket", "got one that can't be read (bad query field"),
    ],
)
def test_what_is_no_address_is_said_without_its_password(dsn: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as raised:
        address(dsn.replace("me@", "me:hush@"))
    assert "hush" not in str(raised.value)


@pytest.mark.parametrize("name", [name for name in REFUSED if name not in ("locking rows", "users", "passwords")])
def test_no_statement_but_a_query_is_sent(name: str) -> None:
    by_the_server = ("the queries of others by name", "writing a file", "writing a blob", "into a variable")
    assert bool(refused(REFUSED[name])) != (name in by_the_server)


@pytest.mark.parametrize(
    "sql", ["SELECT 1", "/* a */-- b\n#c\n ((select 1))", "with a as (select 1) table a", "VALUES(1)"]
)
def test_a_query_is_sent(sql: str) -> None:
    assert refused(sql) == ""


def test_comments_are_read_in_linear_time() -> None:
    assert refused("/* " * 30_000 + "SELECT 1") == "/"
    assert refused("( " * 500_000 + "KILL 1") == "KILL"


def test_names_are_quoted_as_in_mysql() -> None:
    assert [quoted_if_needed(name, "mysql") for name in ("city", "order item", "a`b")] == [
        "city",
        "`order item`",
        "`a``b`",
    ]
    key = ForeignKey("order item", "shop id", "shop", "id")
    table = Table("order item", "", ())
    rendered = render_ddl_with_samples(Schema("towns", (table,), (key,), "mysql"))
    assert "CREATE TABLE `order item` (" in rendered
    assert "FOREIGN KEY (`shop id`) REFERENCES shop (id)" in rendered


def test_a_composite_key_with_quoted_names_is_told_as_one() -> None:
    ddl = "CREATE TABLE t (\n    `order id` bigint PRIMARY KEY,\n    line bigint PRIMARY KEY,\n);"
    assert "PRIMARY KEY (`order id`, line)" in with_composite_keys(ddl)


@pytest.mark.parametrize("sql", ["SELECT CURDATE()", "SELECT RAND()", "SELECT UTC_TIMESTAMP()", "SELECT UUID()"])
def test_what_depends_on_time_or_chance_in_mysql_is_not_kept(sql: str) -> None:
    assert is_volatile(sql)


def test_a_server_that_is_no_service_is_not_started_as_one(tmp_path: Path) -> None:
    assert starting("linux", tmp_path) == {}
    (tmp_path / "usr/lib/systemd/system").mkdir(parents=True)
    (tmp_path / "usr/lib/systemd/system/mysqld.service").touch()
    assert starting("linux", tmp_path) == {"root": "systemctl start mysqld"}
    (tmp_path / "etc/init.d").mkdir(parents=True)
    (tmp_path / "etc/init.d/mariadb").touch()
    assert starting("linux", tmp_path) == {"root": "service mariadb start"}

"""What any site's server says when it starts."""

import threading

from flask import Flask

from webshop_server.site.server import Server, announcement


def test_who_starts_a_server_is_told_its_address_and_another_port_than_they_asked_for() -> None:
    with Server(Flask(__name__)) as server:
        for port in (0, server.port):
            said = announcement("The tables are laid", server, port)
            assert said == f"The tables are laid at {server.address}\nPress Ctrl-C to stop."
        lines = announcement("The tables are laid", server, 1, "Bring a friend.").splitlines()
    assert lines[1:] == [f"Port 1 is in use, so {server.port} is used.", "Bring a friend.", "Press Ctrl-C to stop."]


def test_the_servers_thread_is_named_after_the_project_not_after_a_site() -> None:
    with Server(Flask(__name__)):
        assert "iad-server" in [thread.name for thread in threading.enumerate()]

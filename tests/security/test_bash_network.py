"""There is no way to another machine, to the host, or to a neighbour."""

import os
import socket

from iad_envs.bash.sandbox import Sandbox
from tests.security.bash_sandboxes import outside, sandbox_of


def test_a_port_that_answers_outside_does_not_inside(user: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        knock = f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo open"
        assert outside(knock).stdout == "open\n"
        with sandbox_of(user) as sandbox:
            result = sandbox.run(knock)
            assert result.exit_code != 0
            assert "open" not in result.output.split()


def test_the_only_interface_is_a_loopback_that_is_down(sandbox: Sandbox) -> None:
    lines = sandbox.run("cat /proc/net/dev").output.splitlines()[2:]
    assert [line.split(":")[0].strip() for line in lines] == ["lo"]
    routes = sandbox.run("tail -n +2 /proc/net/route; cat /proc/net/ipv6_route").output.splitlines()
    assert all(line.endswith(" lo") for line in routes)
    result = sandbox.run("echo x >/dev/udp/10.255.255.255/53")
    assert "unreachable" in result.output


def test_a_socket_by_name_is_not_shared_with_the_host(user: str) -> None:
    name = f"iad-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        assert name in outside("cat /proc/net/unix").stdout
        with sandbox_of(user) as sandbox:
            assert name not in sandbox.run("cat /proc/net/unix").output


def test_families_that_go_round_the_network_namespace_are_refused(sandbox: Sandbox) -> None:
    vsock, packet, algorithms = 40, 17, 38
    for family in (vsock, packet, algorithms):
        script = f"perl -e 'socket(my $s, {family}, 1, 0) or print \"refused: $!\\n\"'"
        assert sandbox.run(script).output == "refused: Operation not permitted\n"
    assert sandbox.run("perl -e 'socket(my $s, 1, 1, 0) and print \"made\\n\"'").output == "made\n"

"""Message format between the processes of a sandbox: JSON object, bytes and open descriptors over a socket."""

import array
import json
import socket
import struct
from typing import Any, NamedTuple

_HEAD = struct.Struct(">II")


class Message(NamedTuple):
    """One message.

    Attributes:
        header: JSON data.
        body: Raw bytes of the message.
        descriptors: Open file descriptors of the message. The receiver closes them.
    """

    header: dict[str, Any]
    body: bytes = b""
    descriptors: tuple[int, ...] = ()


def send(stream: socket.socket, message: Message) -> None:
    """Send one message."""
    header = json.dumps(message.header, separators=(",", ":")).encode()
    data = _HEAD.pack(len(header), len(message.body)) + header
    sent = socket.send_fds(stream, [data], message.descriptors) if message.descriptors else stream.send(data)
    if sent < len(data):
        stream.sendall(data[sent:])
    if message.body:
        stream.sendall(message.body)


def receive(stream: socket.socket) -> Message | None:
    """Receive the next message, or None if the other side has ended."""
    room = socket.CMSG_SPACE(8 * array.array("i").itemsize)  # no message has more descriptors than 8
    first, ancillary, _, _ = stream.recvmsg(_HEAD.size, room, socket.MSG_CMSG_CLOEXEC)
    descriptors = array.array("i")
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            descriptors.frombytes(content[: len(content) - len(content) % descriptors.itemsize])
    if not first:
        return None
    header_size, body_size = _HEAD.unpack(first + _exactly(stream, _HEAD.size - len(first)))
    if header_size > 256 << 20:
        raise ConnectionError(f"expected a message header of at most {256 << 20} bytes, got {header_size}")
    header = json.loads(_exactly(stream, header_size))
    return Message(header, _exactly(stream, body_size), tuple(descriptors))


def _exactly(stream: socket.socket, size: int) -> bytes:
    if size == 0:
        return b""
    data = bytearray(size)
    view = memoryview(data)
    got = 0
    while got < size:
        count = stream.recv_into(view[got:])
        if count == 0:
            raise ConnectionError("expected the rest of a message, got the end of the stream")
        got += count
    return bytes(data)

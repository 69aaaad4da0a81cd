"""Messages between the parent and the CModel's process over a socket: a length, then JSON."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any


def send(link: socket.socket, message: dict[str, Any]) -> None:
    text = json.dumps(message).encode()
    link.sendall(struct.pack("<I", len(text)) + text)


def receive(link: socket.socket) -> dict[str, Any] | None:
    """The next message; None where the other process has closed the socket."""
    head = _exactly(link, 4)
    body = _exactly(link, struct.unpack("<I", head)[0]) if head else None
    return json.loads(body) if body else None


def _exactly(link: socket.socket, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        try:
            part = link.recv(count - len(parts))
        except ConnectionError:
            return None
        if not part:
            return None
        parts += part
    return bytes(parts)

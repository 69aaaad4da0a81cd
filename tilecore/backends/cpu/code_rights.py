"""Pages for code: their rights, how they are written, and the error where a system does not grant them."""

from __future__ import annotations

import ctypes

from tilecore.errors import ToolchainError

READ, WRITE, EXECUTE = 1, 2, 4


class Pages:
    """Pages of this process. ``address``: of the first byte."""

    address: int
    size: int

    def write(self, data: bytearray) -> None:
        source = (ctypes.c_char * len(data)).from_buffer(data)
        ctypes.memmove(self.address, source, len(data))


def forbidden(reason: str, answer: str, is_denied: bool) -> ToolchainError:
    """answer: what the system said. is_denied: whether it refuses that to this program in general."""
    return ToolchainError(
        f"the object file cannot be loaded: {reason}",
        found=answer,
        hint="this system may forbid programs to make code at run time (SELinux, a hardened kernel, a sandbox)"
        if is_denied
        else None,
    )

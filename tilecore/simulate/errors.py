"""The errors of the simulated device."""

from __future__ import annotations

from dataclasses import dataclass

from tilecore.errors import LaunchError, Location


@dataclass(frozen=True)
class MemoryAccess:
    """An access to memory. operation: such as "read" or "write". thread: its index in the block; None for asynchronous
    work. line: the line of the emitted source."""

    operation: str
    thread: int | None
    block: tuple[int, int, int]
    line: int | None

    def __str__(self) -> str:
        who = "asynchronous work" if self.thread is None else f"thread {self.thread}"
        at = f", line {self.line}" if self.line else ""
        return f"{self.operation or 'here'} by {who} of block {self.block}{at}"


class SimulationError(LaunchError):
    """A kernel did something on the simulated device that hardware forbids or leaves open.

    kind: one of those of docs/simt.md, section 4. kernel: its symbol. block, thread: who did it. line: of the emitted
    source; user_line: the ``file:line`` that the source names there. tensor, index: the memory and the element, when
    it is about one (tensor is "shared memory" for shared memory, its index is in bytes). other: the earlier access.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        kernel: str,
        access: MemoryAccess | None = None,
        other: MemoryAccess | None = None,
        tensor: str | None = None,
        index: tuple[int, ...] | None = None,
        user_line: str | None = None,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        location: Location | None = None,
    ) -> None:
        super().__init__(message, found=found, expected=expected, hint=hint, location=location)
        self.kind = kind
        self.kernel = kernel
        self.access = access
        self.other = other
        self.tensor = tensor
        self.index = index
        self.user_line = user_line

    @property
    def block(self) -> tuple[int, int, int] | None:
        return self.access.block if self.access else None

    @property
    def thread(self) -> int | None:
        return self.access.thread if self.access else None

    @property
    def line(self) -> int | None:
        return self.access.line if self.access else None

    def __reduce__(self):
        _, (_, message, facts) = super().__reduce__()
        field_names = ("kind", "kernel", "access", "other", "tensor", "index", "user_line")
        return _rebuild, (message, {**facts, **{name: getattr(self, name) for name in field_names}})


def _rebuild(message: str, facts: dict) -> SimulationError:
    return SimulationError(message, **facts)

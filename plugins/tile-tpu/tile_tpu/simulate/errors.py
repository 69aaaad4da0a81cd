"""The error of a run on the simulator."""

from __future__ import annotations

from tilecore.errors import LaunchError, Location

KINDS = {
    "alignment": "an address that is not aligned as the operand needs",
    "argument": "an argument out of its range",
    "assertion": "TPUKERNEL_ASSERT does not hold",
    "cores": "two cores access the same bytes, one writes, and no tpu_sync_all is between the accesses",
    "crash": "the kernel's own code ended in a signal",
    "deadlock": "a core waits for others that have ended",
    "dtype": "a data type that the function or the unit does not support",
    "extent": "an extent out of its range",
    "hazard": "engines of a parallel region, or a command and the control core without a poll, access the same bytes",
    "interrupted": "the run was interrupted",
    "lane": "an operand that starts in a lane where it must not",
    "out_of_bounds": "an access outside of a tensor, of L2 or of local memory",
    "out_of_memory": "the host does not have enough memory",
    "overlap": "a result that overlaps an operand in a way that is not allowed",
    "protocol": "tpu_initialize, tpu_poll, parallel regions or barriers out of order",
    "read_only": "a write to a tensor that the kernel only reads",
    "stride": "a stride out of its range",
    "timeout": "too many commands, or a run that takes too long",
    "unavailable": "a function that this chip does not have",
    "uninitialised": "a read of bytes that nothing has written",
    "unsupported": "a legal operation that the simulator does not support",
}


class TpuSimulationError(LaunchError):
    """A kernel did something that the chip forbids, or whose result it leaves undefined.

    kind: one of ``KINDS``. kernel: the entry. function: the function of the kernel interface that was called. line: the
    line of the call in the emitted source, 0 where it is not known. user_line: the user's ``file:line`` of it. core:
    the core that ran the call. tensor: the name of the memory that was accessed, if any.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str,
        kernel: str,
        function: str = "",
        line: int = 0,
        core: int = 0,
        tensor: str | None = None,
        user_line: str | None = None,
        found: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
        location: Location | None = None,
    ) -> None:
        super().__init__(message, found=found, expected=expected, hint=hint, location=location)
        self.kind = kind
        self.kernel = kernel
        self.function = function
        self.line = line
        self.core = core
        self.tensor = tensor
        self.user_line = user_line

    def __reduce__(self):
        _, (_, message, facts) = super().__reduce__()
        fields = ("kind", "kernel", "function", "line", "core", "tensor", "user_line")
        return _rebuild, (message, {**facts, **{name: getattr(self, name) for name in fields}})


def _rebuild(message: str, facts: dict) -> TpuSimulationError:
    return TpuSimulationError(message, **facts)

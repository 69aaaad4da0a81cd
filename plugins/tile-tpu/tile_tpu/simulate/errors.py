"""What a run on the simulator raises."""

from __future__ import annotations

from tilecore.errors import LaunchError, Location

KINDS = {
    "alignment": "an address that is no multiple of what the operand needs",
    "argument": "an argument out of its range",
    "assertion": "TPUKERNEL_ASSERT does not hold",
    "cores": "cores touch the same bytes, one writes, and no tpu_sync_all stands between",
    "crash": "the kernel's own code ended in a signal",
    "deadlock": "a core waits for others that have ended",
    "dtype": "a data type that the function or the unit has not",
    "extent": "an extent out of its range",
    "hazard": "engines of one parallel region, or commands and the control core without a poll, touch the same bytes",
    "interrupted": "the run was interrupted",
    "lane": "an operand that starts in a lane where it must not",
    "out_of_bounds": "an access outside of a tensor, of L2 or of local memory",
    "out_of_memory": "the host has not enough memory",
    "overlap": "a result that overlaps an operand in a way that is not allowed",
    "protocol": "tpu_initialize, tpu_poll, parallel regions or barriers out of order",
    "read_only": "a write to a tensor that the kernel only reads",
    "stride": "a stride out of its range",
    "timeout": "too many commands, or too long",
    "unavailable": "a function that this chip has not",
    "uninitialised": "a read of bytes that nothing has written",
    "unsupported": "legal, but the simulator has not got it",
}


class TpuSimulationError(LaunchError):
    """A kernel did something that the chip forbids or leaves open.

    kind: one of ``KINDS``. kernel: its entry. function: of the kernel interface, whose call in ``line`` of the emitted
    source it was (0: in none). user_line: the ``file:line`` that the source names there. core: who ran it. tensor: the
    memory it is about, when there is one.
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

"""Defines AutotuneResult, the result of a search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tilecore.autotune.candidates import Candidate, table

if TYPE_CHECKING:
    from tilecore.autotune.configs import Config
    from tilecore.jit.kernel import JITKernel


@dataclass(frozen=True)
class AutotuneResult:
    """kernel: the fastest right one. config: its configuration. latency, ref_latency: milliseconds of a call of it and
    of ref_prog (None without one). checked: against what it was found right. from_cache: known from an earlier
    search. candidates: all that were tried, with status, latency and reason (none from the cache).
    """

    kernel: JITKernel
    config: Config
    latency: float
    ref_latency: float | None
    checked: str
    from_cache: bool = False
    candidates: list[Candidate] = field(default_factory=list, repr=False, compare=False)

    def table(self, width: int = 120) -> str:
        """All that were tried, the fastest first, with milliseconds, status and reasons, as a text of so many columns.
        Of a stored result only the winner is known."""
        return table(self.candidates or [Candidate(self.config, "timed", "", self.latency)], width)

    @property
    def libcode(self) -> str:
        """The source that was emitted for the kernel."""
        return self.kernel.get_kernel_source()

    @property
    def func(self) -> Any:
        """The kernel as tile IR."""
        return self.kernel.prim_func

"""What the functions of a compiled kernel take of the device, under TileLang's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.records import Backend

_WORD_BYTES = 4  # of a spilled register
# the names that the backends' tools have for one number
_REGISTERS = ("registers", "vgprs")
_SPILLED_REGISTERS = ("spilled_vgprs",)
_STACK_BYTES = ("stack_bytes", "scratch_bytes")
_MOST_THREADS = ("threads_at_most",)


class ResourceUsage(NamedTuple):
    """Of one function. n_regs: registers of a thread. n_spills: its spilled registers and the words of 4 bytes of its
    stack, as TileLang counts. n_max_threads: the most threads of a block. None for what is not known."""

    n_regs: int | None = None
    n_spills: int | None = None
    n_max_threads: int | None = None


class KernelResources:
    """The registers and the stack of a kernel, where its backend reads them from the binary."""

    artifact: Artifact
    backend: Backend

    @property
    def resource_usage(self) -> Mapping[str, ResourceUsage]:
        """What each function of the kernel takes, by its name; empty where the backend does not know."""
        if not self.artifact.binary:
            return {}
        return {
            function: _usage(figures)
            for function, figures in self.backend.toolchain.describe(self.artifact.binary).items()
        }

    @property
    def n_regs(self) -> int | None:
        """Registers of a thread of the kernel's first function; None where the backend does not know."""
        return self._first().n_regs

    @property
    def n_spills(self) -> int | None:
        """Spilled registers of a thread of the kernel's first function, and words of its stack; None where the backend
        does not know."""
        return self._first().n_spills

    @property
    def n_max_threads(self) -> int | None:
        """The most threads of a block of the kernel's first function; None where the backend does not know."""
        return self._first().n_max_threads

    def _first(self) -> ResourceUsage:
        usage = self.resource_usage
        names = [entry.symbol for entry in self.artifact.entries if entry.symbol in usage]
        return usage[names[0]] if names else next(iter(usage.values()), ResourceUsage())


def _usage(figures: Mapping[str, int]) -> ResourceUsage:
    spilled, stack = _first_of(figures, _SPILLED_REGISTERS), _first_of(figures, _STACK_BYTES)
    spills = None if spilled is None and stack is None else (spilled or 0) + (stack or 0) // _WORD_BYTES
    return ResourceUsage(_first_of(figures, _REGISTERS), spills, _first_of(figures, _MOST_THREADS))


def _first_of(figures: Mapping[str, int], names: tuple[str, ...]) -> int | None:
    return next((figures[name] for name in names if name in figures), None)

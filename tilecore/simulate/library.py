"""Compiled kernels, ready to run on the simulated device."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tilecore.errors import LaunchError
from tilecore.simulate import native
from tilecore.simulate.build import kernel_library, runtime_library
from tilecore.simulate.compilers import HostCompiler, find_compiler
from tilecore.simulate.line_table import LineTable
from tilecore.simulate.opened import opened

SOURCE_NAME = "kernel.cpp"
_PLACE = re.compile(r"//.*?([^\s:()'\"]+\.\w+:\d+)")


@dataclass(frozen=True)
class KernelLibrary:
    """``source`` compiled for the simulated device; ``compile_kernels`` makes it. Whoever runs an entry keeps this
    object, with which the library is closed."""

    path: Path
    source: str
    symbols: tuple[str, ...]
    runtime: Any
    _handles: list[Any] = field(default_factory=list, repr=False)

    def entry(self, symbol: str) -> int:
        """The address that the runtime calls for a kernel."""
        if symbol not in self.symbols:
            raise LaunchError(f"no kernel {symbol!r}", expected=", ".join(self.symbols))
        if not self._handles:
            self._handles.append(opened(self.path, owner=self))
        function = getattr(self._handles[0], f"tc_sim_entry_{symbol}")
        return ctypes.cast(function, ctypes.c_void_p).value or 0

    @cached_property
    def lines(self) -> list[str]:
        return self.source.splitlines()

    @cached_property
    def _table(self) -> LineTable:
        return LineTable.of(self.path)

    def line_of(self, site: int) -> int | None:
        """The line of the source that a site of the runtime's report means; None when it is not known."""
        if site & native.LINE_SITE:
            line = site & ~native.LINE_SITE
        else:
            line = self._table.line_at(site, SOURCE_NAME) or 0 if site else 0
        return line if 1 <= line <= len(self.lines) else None

    def user_line(self, line: int) -> str | None:
        """``file:line`` that the comment of a source line names, or the last one above it in the same function."""
        for text in reversed(self.lines[:line]):
            if match := _PLACE.search(text):
                return match[1]
            if text.startswith(('extern "C"', "}")):
                return None
        return None


def compile_kernels(
    source: str, symbols: Sequence[str], include: Sequence[str | Path] = (), flags: Sequence[str] = (),
    compiler: HostCompiler | None = None, definitions: Sequence[str] = (),
) -> KernelLibrary:  # fmt: skip
    """Compile emitted source, or take the library from the cache on disk.

    symbols: the kernels in it. include: folders of the backend's headers. flags: for the compiler. definitions: of
    the runtime itself (``TC_SIM_UCONTEXT=1`` for machines without a context switch of our own).
    Raises ToolchainError where there is no compiler or it refuses the source.
    """
    compiler = compiler or find_compiler()
    runtime = runtime_library(compiler, definitions)
    path = kernel_library(compiler, runtime, source, symbols, include, flags)
    return KernelLibrary(path, source, tuple(symbols), native.load_runtime(runtime))

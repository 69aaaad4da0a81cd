"""Compiles a kernel again where the register allocation of ptxas has failed.

ptxas then spills every value to memory. Such a kernel has 32 registers and kilobytes of stack and is many times slower;
with mma.m16n8k4 of float64 it was also wrong (ptxas 13.0, tiles of 72 x 96 by 96 threads). At optimization level 1
ptxas finds registers for the same kernels (docs/notes/compilers.md has the measurements).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tile_cuda import cubin

FEW_REGISTERS = 32  # of a thread: at most so many where the allocation has failed
MUCH_STACK = 1024  # bytes of a thread: at least so many where the allocation has failed
RETRY_OPTIONS = ("--ptxas-options=-O1",)
Compile = Callable[[Sequence[str]], tuple[bytes | None, str]]


def compiled(compile_with: Compile, options: Sequence[str]) -> tuple[bytes | None, str]:
    """The result of ``compile_with(options)``: (the cubin or None, the compiler's messages).

    Where the register allocation has failed, the result of a compilation at level 1 replaces it, if that needs less
    than half of the stack. Options for ptxas among the user's options prevent the second compilation.
    """
    binary, messages = compile_with(options)
    if binary is None or not allocation_failed(binary) or any("ptxas" in option for option in options):
        return binary, messages
    retry_binary, retry_messages = compile_with([*options, *RETRY_OPTIONS])
    if retry_binary is not None and 2 * _stack(retry_binary) < _stack(binary):
        return retry_binary, retry_messages
    return binary, messages


def allocation_failed(binary: bytes) -> bool:
    """Whether a kernel has few registers and a large stack.

    Arrays that are indexed by a variable look the same; the second compilation then does not reduce the stack.
    """
    return any(
        kernel.get("registers", 255) <= FEW_REGISTERS and kernel.get("stack_bytes", 0) >= MUCH_STACK
        for kernel in cubin.describe(binary).values()
    )


def _stack(binary: bytes) -> int:
    return max((kernel.get("stack_bytes", 0) for kernel in cubin.describe(binary).values()), default=0)

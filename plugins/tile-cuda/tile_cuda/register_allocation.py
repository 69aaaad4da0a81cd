"""A second compilation where ptxas gave up the allocation of registers.

It then keeps every value in memory: such a kernel has 32 registers and kilobytes of stack, is many times slower, and
was wrong with mma.m16n8k4 of float64 (ptxas 13.0: tiles of 72 x 96 by 96 threads). ptxas at level 1 finds registers for
the same kernels (docs/notes/compilers.md has the numbers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tile_cuda import cubin

FEW_REGISTERS = 32  # of a thread, where the allocation was given up
MUCH_STACK = 1024  # bytes of a thread
AGAIN = ("--ptxas-options=-O1",)
Compile = Callable[[Sequence[str]], tuple[bytes | None, str]]


def compiled(compile_with: Compile, options: Sequence[str]) -> tuple[bytes | None, str]:
    """What ``compile_with(options)`` gives: (the cubin or None, what the compiler said). Where ptxas gave up, what it
    gives at level 1, if that has less than half of the stack. The user's own options of ptxas stand."""
    binary, messages = compile_with(options)
    if binary is None or not gave_up(binary) or any("ptxas" in option for option in options):
        return binary, messages
    other, words = compile_with([*options, *AGAIN])
    if other is not None and 2 * _stack(other) < _stack(binary):
        return other, words
    return binary, messages


def gave_up(binary: bytes) -> bool:
    """Is there a kernel with few registers and much memory of a thread? Arrays that are indexed by a variable look the
    same, which a second compilation tells."""
    return any(
        kernel.get("registers", 255) <= FEW_REGISTERS and kernel.get("stack_bytes", 0) >= MUCH_STACK
        for kernel in cubin.describe(binary).values()
    )


def _stack(binary: bytes) -> int:
    return max((kernel.get("stack_bytes", 0) for kernel in cubin.describe(binary).values()), default=0)

"""T.thread_binding and T.launch_thread: the indices of threads and blocks by TVM's names, such as "threadIdx.x".

In a T.Kernel they are its own axes; in a function without T.Kernel, those of the kernel that the function is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.analyzer import Analyzer
from tilecore.language.arithmetic import Arithmetic
from tilecore.language.implicit_kernel import ImplicitKernel
from tilecore.language.kernel import LETTERS, Kernel
from tilecore.language.values import as_expr
from tilecore.tracing.current import current
from tilecore.tracing.loops import Axis

_FAMILIES = ("threadIdx", "blockIdx")


class ThreadAxis(Arithmetic):
    """The index of the running thread or block along an axis; as a loop it has one iteration, in which the loop's
    variable is the index, and `with` gives the index, too."""

    def __init__(self, index: Any) -> None:
        self.index = index

    def expr(self) -> Any:
        return self.index

    def __str__(self) -> str:
        return str(self.index)

    __repr__ = __str__

    def __iter__(self) -> Iterator[Any]:
        return iter((self.index,))

    def __len__(self) -> int:
        return 1

    def __enter__(self) -> Any:
        return self.index

    def __exit__(self, *error: object) -> None:
        """The axis goes on to the end of the kernel."""


def thread_loop(axis: Axis, tag: str) -> ThreadAxis:
    """One iteration for each thread or block: the loop's variable is its index."""
    return ThreadAxis(_index("T.thread_binding", tag, axis.extent) + axis.start)


def launch_thread(thread: str, extent: Any) -> ThreadAxis:
    """The index of the running thread ("threadIdx.x") or block ("blockIdx.x") in a T.Kernel whose number of threads or
    blocks along the axis is ``extent``. A function without T.Kernel gets such an axis. Raises LanguageError for another
    extent than the axis has."""
    return ThreadAxis(_index("T.launch_thread", str(thread), as_expr(extent)))


def _index(subject: str, tag: str, extent: Any) -> Any:
    family, _, letter = tag.partition(".")
    if family not in _FAMILIES or letter not in tuple(LETTERS):
        raise LanguageError(
            f"{subject}: {tag!r} is no index of threads or blocks", expected="threadIdx.x, blockIdx.x, ... to .z"
        )
    frame = current(subject).kernel_frame(
        lambda: LanguageError(f"{subject} stands outside T.Kernel", expected="a call inside `with T.Kernel(...)`")
    )
    kernel: Kernel = frame.facts["kernel"]
    axis = LETTERS.index(letter)
    if isinstance(kernel, ImplicitKernel):
        kernel.add_axis(family, axis, extent)
    sizes = kernel.threads if family == "threadIdx" else [*kernel.blocks, 1, 1][:3]
    if not Analyzer().can_prove(as_expr(sizes[axis]) == as_expr(extent)):
        raise LanguageError(
            f"{subject} has {extent} along {tag}",
            found=f"the kernel has {sizes[axis]} {'threads' if family == 'threadIdx' else 'blocks'} along {letter}",
            expected="the extent of the kernel",
        )
    if family == "threadIdx":
        return kernel.thread_vars[axis]
    return kernel.block_vars[axis] if axis < len(kernel.block_vars) else as_expr(0)

"""A function without T.Kernel: all of its statements are one kernel.

It has one block, unless T.thread_binding or T.launch_thread give it axes of threads and blocks.
"""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import AllocBuffer, Bind, IntImm, Stmt, TensorLoad, Var
from tilecore.ir.scopes import is_global
from tilecore.ir.visit import collect
from tilecore.language.kernel import LETTERS, Kernel
from tilecore.tracing.builder import Builder
from tilecore.tracing.current import current, without_builder


class ImplicitKernel(Kernel):
    """The kernel that a function without T.Kernel is. Its axes are added while its body is built."""

    def __init__(self, builder: Builder) -> None:
        super().__init__()
        self.span = builder.span
        self.frame = builder.frames[0]
        self.thread_vars = [builder.variable(f"t{letter}") for letter in LETTERS]
        self.block_vars = [builder.variable("bx")]
        self.tags: set[str] = set()  # of the axes that have an extent

    def add_axis(self, family: str, axis: int, extent: Any) -> None:
        """Gives an axis of threads or blocks its extent, unless it has one. family: "threadIdx" or "blockIdx"."""
        tag = f"{family}.{LETTERS[axis]}"
        if tag in self.tags:
            return
        if self.asked_by is not None:
            raise LanguageError(
                f"the axis {tag} is bound after {self.asked_by}, which needs the numbers of threads and blocks",
                expected="T.thread_binding and T.launch_thread of all axes at the beginning of the function",
            )
        self.tags.add(tag)
        if family == "threadIdx":
            if not isinstance(extent, IntImm) or int(extent) < 1:
                raise LanguageError(f"the extent of {tag} is {extent}", expected="a positive Python int")
            x, y, z = (int(extent) if place == axis else size for place, size in enumerate(self.threads))
            self.threads = (x, y, z)
            return
        while len(self.blocks) <= axis:
            letter = LETTERS[len(self.blocks)]
            self.blocks.append(IntImm("int32", 1))
            self.block_vars.append(current("T.thread_binding").variable(f"b{letter}"))
        self.blocks[axis] = extent


def begin_implicit(builder: Builder, refusal: LanguageError) -> None:
    """Makes the function that is being built a kernel as a whole. refusal: what a T.Kernel that follows raises."""
    from tilecore.language.debugging import emit_preconditions

    frame = builder.frames[0]
    frame.kind = "kernel"
    frame.facts.update(kernel=ImplicitKernel(builder), refusal=refusal, start=len(frame.statements))
    open_blocks = builder.frames[1:]
    del builder.frames[1:]
    emit_preconditions(builder)
    builder.frames.extend(open_blocks)


def closed_function(builder: Builder) -> Stmt:
    """The body of the function that is built; where the function is a kernel as a whole, with its launch."""
    from tilecore.language.grid_sync import CUTS, parts_of

    frame = builder.frames[0]
    kernel = frame.facts.get("kernel")
    if kernel is None:
        return frame.body()
    is_outside = _outside(frame.statements, frame.facts["start"])
    before_launch = [s for s, outside in zip(frame.statements, is_outside, strict=True) if outside]
    frame.facts[CUTS] = [cut - sum(is_outside[:cut]) for cut in frame.facts.get(CUTS, ())]
    frame.statements = [s for s, outside in zip(frame.statements, is_outside, strict=True) if not outside]
    with without_builder():
        launches = [kernel.launch(part, fresh=number > 0) for number, part in enumerate(parts_of(frame))]
    frame.statements = [*before_launch, *launches]
    return frame.body()


def _outside(statements: list[Stmt], start: int) -> list[bool]:
    """Whether each statement stands in front of the launch: workspaces, and where nothing of the kernel stands before
    them (the first ``start`` statements) views of tensors, and values that are computed from sizes of the call."""
    of_kernel: set[Var] = set()  # values that are computed in the kernel
    outside = []
    for number, statement in enumerate(statements):
        is_outside = number < start
        if isinstance(statement, AllocBuffer):
            is_outside = is_global(statement.buffer)
        elif is_outside and isinstance(statement, Bind) and _is_of_kernel(statement.value, of_kernel):
            of_kernel.add(statement.var)
            is_outside = False
        outside.append(is_outside)
    return outside


def _is_of_kernel(value: Any, of_kernel: set[Var]) -> bool:
    return bool(collect(value, TensorLoad)) or not of_kernel.isdisjoint(collect(value, Var))

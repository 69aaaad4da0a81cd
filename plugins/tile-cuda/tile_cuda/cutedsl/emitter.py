"""Emits kernels as Python of CuTe DSL: the dialect, and what is emitted otherwise than in C, node by node.

The text of a kernel is a function decorated with ``cute.kernel``, and one with ``cute.jit`` that launches it. words.py
writes their words.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tile_cuda.cutedsl.instructions import STATEMENTS, VALUES
from tile_cuda.cutedsl.jumps import Jumps
from tile_cuda.cutedsl.names import LAUNCH, TYPES
from tilecore.codegen.dialect import Dialect, KernelHead
from tilecore.codegen.forms import C
from tilecore.codegen.refusal import refuse
from tilecore.codegen.source_emitter import EmittedKernel
from tilecore.codegen.syntax import Parameter
from tilecore.codegen.text import Text, call
from tilecore.dtypes import FACTS
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import Bind, BufferStore, Call, For, ForKind, PrimFunc, Ramp, TensorLoad
from tilecore.ir.visit import collect, variables

_MOST_UNROLLED = 16  # iterations of a loop that is unrolled whatever it does
_MODULE_NAMES = "cuda cutlass cute tc float blocks_x blocks_y blocks_z stream shared"

DIALECT = Dialect(
    kind="cuda",
    block_index=tuple(f"cute.arch.block_idx()[{axis}]" for axis in range(3)),  # type: ignore[arg-type]
    thread_index=tuple(f"cute.arch.thread_idx()[{axis}]" for axis in range(3)),  # type: ignore[arg-type]
    types=TYPES,
    statements=STATEMENTS,
    values=VALUES,
    unroll="",
    reserved=frozenset({*keyword.kwlist, *keyword.softkwlist, *_MODULE_NAMES.split(), *TYPES.values()}),
    forms=replace(C, suffixes={}),
)


class CuteDslEmitter(Jumps):
    """Emits one kernel in CuTe DSL."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._first_line = 0  # where declarations of memory stand

    # -- expressions --------------------------------------------------------------------------------------------

    def cast_value(self, node: Any) -> Text:
        source, target = dtype_of(node.value), dtype_of(node)
        if target == "bfloat16" and source in ("int64", "uint64") and constant(node.value) is None:
            refuse(node, self.dialect.kind, "go through float64", f"a conversion of {source} to bfloat16 in CuTe DSL")
        return super().cast_value(node)

    def select_value(self, node: Any) -> Text:
        if _may_fail(node.true_value) or _may_fail(node.false_value):
            return self._chosen(node.condition, node.true_value, node.false_value)
        values = (self.value(part) for part in (node.condition, node.true_value, node.false_value))
        return call("tc.select", *values, self.type_of(dtype_of(node), node))

    def if_then_else_value(self, node: Call) -> Text:
        return self._chosen(*node.args)

    def _chosen(self, condition: Any, yes: Any, no: Any) -> Text:
        """One of two values, of which only the one chosen is evaluated."""
        return self._lazy(self.value(condition), self.value(yes), self.value(no), self.type_of(dtype_of(yes), yes))

    @staticmethod
    def _lazy(condition: Text, yes: Text | str, no: Text | str, kind: str) -> Text:
        """A choice between two functions: Python's ``yes if condition else no`` is traced twice by the DSL, so that a
        nest of n of them would take 2 ** n traces."""
        return call("tc.choose", condition, f"lambda: {yes}", f"lambda: {no}", kind)

    def and_value(self, node: Any) -> Text:
        if not _may_fail(node.b):
            return super().and_value(node)
        return self._lazy(self.value(node.a), self.value(node.b), "False", "Boolean")

    def or_value(self, node: Any) -> Text:
        if not _may_fail(node.b):
            return super().or_value(node)
        return self._lazy(self.value(node.a), "True", self.value(node.b), "Boolean")

    def address(self, node: Any) -> Text:
        return Text(self.place(node))

    def atomic_value(self, node: Call) -> Text:
        element, kind = node.args[0], str(node.args[2].value)
        dtype = dtype_of(element)
        is_float, bits = FACTS[dtype].kind == "float", FACTS[dtype].bits
        works = kind in ("load", "store") or (kind == "add" if is_float else bits >= 32)
        if not works or bits < 16:
            hint = "integers of 32 and 64 bits have all atomic operations, floats atomic additions"
            refuse(node, self.dialect.kind, hint, f"an atomic {kind} of {dtype} in CuTe DSL")
        return super().atomic_value(node)

    def atomic(self, kind: str, element: Any, operands: Sequence[Text], order: str) -> Text:
        word = "acquire" if order == "consume" else order
        orders = [] if word == "relaxed" else [f'"{word}"']
        return self.function(f"tc_atomic_{kind}", self.address(element), *operands, *orders)

    # -- memory -------------------------------------------------------------------------------------------------

    def emit_store(self, node: BufferStore) -> None:
        (index,) = node.indices
        if isinstance(index, Ramp):
            self.vector_move(node, index)
            return
        memory = self.memory[node.buffer]
        self.line(self.stored(memory, self.place_in(memory, index), self.value(node.value)))

    def vector_move(self, node: BufferStore, index: Ramp) -> None:
        hint, self.move_hint = self.move_hint, ""  # hints may be ignored
        super().vector_move(node, index)
        self.move_hint = hint

    def emit_atomic_add(self, node: Any) -> None:
        target, values, count, order = node.value.args
        word = str(order.value)
        orders = [] if word == "relaxed" else [f'"{word}"']
        arguments = [self.place(target), self.place(values), *orders]
        self.call_line(self.function(f"tc_atomic_add_x{self.known_number(node, count)}", *arguments))

    # -- declarations -------------------------------------------------------------------------------------------

    def emit_indices(self, func: PrimFunc, threads: tuple[int, int, int]) -> None:
        super().emit_indices(func, threads)
        for parameter in self.parameters:
            if parameter.is_buffer:
                kind = self.type_of(parameter.dtype)
                self._plain_line(f"{parameter.name} = tc.tensor({_address(parameter)}, {kind})")
        self._first_line = len(self.lines)

    def emit_allocation(self, node: Any) -> None:
        before = len(self.lines)
        super().emit_allocation(node)
        self._hoist(before)

    def emit_view(self, node: Any) -> None:
        before = len(self.lines)
        super().emit_view(node)
        self._hoist(before)

    def _hoist(self, before: int) -> None:
        """Moves the lines behind ``before``, declarations of memory, in front of the code: memory that a loop declared
        would grow in every iteration."""
        declared = [line.strip() for line in self.lines[before:]]
        del self.lines[before:]
        for line in declared:
            self.declare_memory(line)

    def declare_memory(self, line: str) -> None:
        self.lines.insert(self._first_line, f"  {line}")
        self._first_line += 1

    def shared_arena(self, size: int) -> str:
        self.declare_memory(f"{self.dialect.arena_name} = tc.shared({size})")
        return ""

    # -- control flow -------------------------------------------------------------------------------------------

    def emit_for(self, node: For) -> None:
        """A loop. One over many iterations that take no registers by number is not unrolled, which would only make it
        large: the compiler would take minutes for some."""
        if node.kind == ForKind.UNROLLED and not self._needs_unrolling(node):
            node = For(node.loop_var, node.min, node.extent, ForKind.SERIAL, node.body, span=node.span)
        super().emit_for(node)

    def _needs_unrolling(self, node: For) -> bool:
        count = constant(node.extent)
        if count is not None and count <= _MOST_UNROLLED:
            return True
        changing = {node.loop_var}  # variables that differ between iterations
        for bound in collect(node.body, Bind):
            if changing & set(variables(bound.value)):
                changing.add(bound.var)
        accesses = [(load.source, load.indices) for load in collect(node.body, TensorLoad)]
        accesses += [(store.buffer, store.indices) for store in collect(node.body, BufferStore)]
        return any(str(b.scope()).startswith("local") and changing & set(variables(list(i))) for b, i in accesses)

    def emit_print(self, node: Any) -> None:
        refuse(node.value, self.dialect.kind, "print with another execution backend", "a print in CuTe DSL")

    def emit_device_assert(self, node: Any) -> None:
        hint = "check it with another execution backend"
        refuse(node.value, self.dialect.kind, hint, "a device assertion in CuTe DSL")

    def emit_assume(self, node: Any) -> None:
        """A hint that may be ignored."""

    def extern_value(self, node: Call) -> Text:
        hint = "call it with another execution backend"
        return refuse(node, self.dialect.kind, hint, "a function of CUDA C++ source text in CuTe DSL")

    # -- kernels ------------------------------------------------------------------------------------------------

    def line_directive(self, path: str, line: int) -> str:
        return ""  # Python has none

    def kernel_head(self, head: KernelHead) -> str:
        names = self._parameter_names()
        parameters = ", ".join(f"{name}: {kind}" for name, (kind, _) in zip(names, head.parameters, strict=True))
        return f"@cute.kernel\ndef {head.symbol}({parameters})"

    def _parameter_names(self) -> list[str]:
        return [_address(p) if p.is_buffer else p.name for p in self.parameters]

    def kernel(self, func: PrimFunc) -> tuple[str, EmittedKernel]:
        text, facts = super().kernel(func)
        return f"{text.rstrip()}\n\n\n{self._launcher(func, facts)}", facts

    def _launcher(self, func: PrimFunc, facts: EmittedKernel) -> str:
        """The function that launches the kernel: its parameters, the blocks along each axis and the stream."""
        from tilecore.ir.attributes import FunctionAttr

        names = self._parameter_names()
        kinds = [self.parameter_type(parameter) for parameter in self.parameters]
        blocks = ("blocks_x", "blocks_y", "blocks_z")
        parameters = [f"{name}: {kind}" for name, kind in zip(names, kinds, strict=True)]
        parameters += [*(f"{name}: Int32" for name in blocks), "stream: cuda.CUstream"]
        threads = ", ".join(str(constant(extent)) for extent in func.attrs[FunctionAttr.THREADS])
        launch = f"grid=({', '.join(blocks)}), block=({threads}), smem={facts.shared_bytes}, stream=stream"
        return (
            f"@cute.jit\ndef {LAUNCH}{self.symbol}({', '.join(parameters)}):\n"
            f"  {self.symbol}({', '.join(names)}).launch({launch})"
        )

    def module_head(self) -> str:
        return (
            "# tilecore: CuTe DSL\n"
            "import cuda.bindings.driver as cuda\n"
            "import cutlass\n"
            "import cutlass.cute as cute\n"
            f"from cutlass import {', '.join(sorted(set(TYPES.values())))}\n"
            "from tile_cuda.cutedsl import device as tc\n"
        )


def _address(parameter: Parameter) -> str:
    """The name of a kernel's parameter with the address of a tensor."""
    return f"{parameter.name}_address"


def _may_fail(node: Any) -> bool:
    """Whether a value must not be evaluated where it is not asked for: it reads memory or takes part in a call."""
    return bool(collect(node, TensorLoad)) or bool(collect(node, Call))

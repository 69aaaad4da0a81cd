"""A code generator for a language that is not of C's family, by overriding methods of the emitter and nothing else.

The text is like that of WGSL, the language of WebGPU: declarations with the type behind the name, no pointers, no
casts and no choices in C's form, parameters and shared memory as declarations in front of the function. Functions that
WGSL does not have, such as `floor_div`, are for a backend to define in `module_head`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tilecore.codegen.dialect import C_MATH, Dialect, KernelHead
from tilecore.codegen.forms import CPP
from tilecore.codegen.refusal import refuse
from tilecore.codegen.source_emitter import SourceEmitter
from tilecore.codegen.syntax import Memory, Parameter
from tilecore.codegen.text import PRIMARY, SUM, Text, call, within
from tilecore.ir.nodes import BufferStore

TYPES = {"float32": "f32", "int32": "i32", "uint32": "u32", "bool": "bool"}
INDEX_TYPES = {"int64": "i32"}  # of indices into tensors whose sizes are not known: no buffer has 2^31 elements
RESERVED = "alias array atomic bitcast block discard f32 fn i32 let loop override ptr select thread u32 var vec3 vec4"
# functions of C's headers -> WGSL's
FUNCTIONS = {"tc_nearbyint": "round", "tc_rsqrt": "inverseSqrt", "tc_popcount": "countOneBits"}
ROUNDED = {"tc_rounded_add": "+", "tc_rounded_sub": "-", "tc_rounded_mul": "*"}
ATOMICS = {"add": "Add", "max": "Max", "min": "Min", "and": "And", "or": "Or", "xor": "Xor", "exchange": "Exchange"}

DIALECT = Dialect(
    kind="wgsl",
    block_index=("block.x", "block.y", "block.z"),
    thread_index=("thread.x", "thread.y", "thread.z"),
    types={**TYPES, **INDEX_TYPES},
    math={name: functions for name, functions in C_MATH.items() if name != "ldexp"},
    unroll="",
    reserved=frozenset(RESERVED.split()),
    forms=replace(CPP, suffixes={"uint32": "u"}),
)


class WgslEmitter(SourceEmitter):
    """Emits one kernel. ``atomics``: names of the buffers on which atomic operations work."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.atomics: set[str] = set()

    # -- expressions --------------------------------------------------------------------------------------------

    def floating(self, value: float, dtype: str) -> Text:
        if value - value != 0:  # infinities and NaN have no literals
            bits = "0x7fc00000u" if value != value else "0x7f800000u" if value > 0 else "0xff800000u"
            return call("bitcast<f32>", bits)
        return super().floating(value, dtype)

    def binary(self, symbol: str, level: int, a: Text, b: Text) -> Text:
        if symbol in ("<<", ">>"):  # the number of bits has no sign; operands need parentheses
            return Text(f"{within(a, PRIMARY)} {symbol} {call('u32', b)}", level)
        return super().binary(symbol, level, a, b)

    def cast(self, dtype: str, value: Text) -> Text:
        return call(self.type_of(dtype), value)

    def truncate(self, dtype: str, value: Text) -> Text:
        return self.cast(dtype, value)

    def bits_as(self, dtype: str, value: Text) -> Text:
        return call(f"bitcast<{self.type_of(dtype)}>", value)

    def choice(self, condition: Text, yes: Text, no: Text) -> Text:
        return call("select", no, yes, condition)

    def function(self, name: str, *arguments: Text | str) -> Text:
        if name in ROUNDED:
            a, b = (Text(f"({argument})") for argument in arguments)
            return self.binary(ROUNDED[name], SUM, a, b)
        return call(FUNCTIONS.get(name, name.removeprefix("tc_")), *arguments)

    # -- declarations -------------------------------------------------------------------------------------------

    def constant(self, dtype: str, name: str, value: Text) -> str:
        return f"let {name} : {self.type_of(dtype)} = {value};"

    def indices(self, names: Sequence[tuple[str, str]]) -> str:
        return " ".join(f"let {name} : i32 = i32({value});" for name, value in names)

    def variable(self, dtype: str, name: str, align: int) -> str:
        return f"var {name} : {self.type_of(dtype)};"

    def local_array(self, dtype: str, name: str, count: int, align: int) -> str:
        return f"var {name} : array<{self.type_of(dtype)}, {count}>;"

    def shared_array(self, memory: Memory, count: int | None, offset: int) -> str:
        self.declare(memory.name, f"var<workgroup> {memory.name} : array<{self.type_of(memory.dtype)}, {count}>;")
        return ""

    def emit_view(self, node: Any) -> None:
        refuse(node, "wgsl", "use one element type for each buffer", "a buffer with two element types")

    # -- control flow and memory --------------------------------------------------------------------------------

    def for_head(self, dtype: str, name: str, first: Text, stop: Text) -> str:
        return f"for (var {name} = {first}; {name} < {within(stop, SUM)}; {name}++)"

    def emit_move(self, node: BufferStore, index: Any, count: int) -> None:
        to, (source, start) = getattr(index, "base", index), self.element_named(node.value)
        for number in range(count):
            value = self.element(source, start + number)
            self.line(self.assigned(self.memory[node.buffer], self.element(node.buffer, to + number), value))

    def atomic(self, kind: str, element: Any, operands: Sequence[Text], order: str) -> Text:
        if kind not in ATOMICS:
            refuse(element, "wgsl", what=f"an atomic {kind}")
        self.atomics.add(self.memory[self.element_named(element)[0]].name)
        return call(f"atomic{ATOMICS[kind]}", self.address(element), *operands)

    def emit_barrier(self, node: Any) -> None:
        self.line("storageBarrier(); workgroupBarrier();")

    def emit_commit_async(self, node: Any) -> None:
        """Copies are done when they are written."""

    emit_wait_async = emit_commit_async

    # -- kernels ------------------------------------------------------------------------------------------------

    def module_head(self) -> str:
        return "// tilecore: WGSL"

    def parameter_value(self, parameter: Parameter) -> Text:
        return Text(f"{parameter.name}.value")

    def kernel_head(self, head: KernelHead) -> str:
        for number, parameter in enumerate(self.parameters):
            name, kind = parameter.name, self.type_of(parameter.dtype)
            kind = f"atomic<{kind}>" if name in self.atomics else kind
            access = f"storage, {'read' if parameter.read_only else 'read_write'}" if parameter.is_buffer else "uniform"
            of = f"array<{kind}>" if parameter.is_buffer else f"Of_{name}"
            struct = "" if parameter.is_buffer else f"struct Of_{name} {{ value : {kind}, }}\n"
            self.declare(name, f"{struct}@group(0) @binding({number}) var<{access}> {name} : {of};")
        inputs = "@builtin(workgroup_id) block : vec3<u32>, @builtin(local_invocation_id) thread : vec3<u32>"
        return f"@compute @workgroup_size({', '.join(map(str, head.threads))})\nfn {head.symbol}({inputs})"

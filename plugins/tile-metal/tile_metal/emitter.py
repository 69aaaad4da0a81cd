"""The emitter of kernels in the Metal Shading Language: what differs from C++ of other GPUs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

from tile_metal import families, packed_scalars
from tile_metal.families import MAX_BUFFERS, SHARED_BYTES, Family
from tilecore.codegen import choices
from tilecore.codegen.calls import memory_order
from tilecore.codegen.dialect import Dialect, KernelHead
from tilecore.codegen.literals import as_single, narrow_bits, narrow_number
from tilecore.codegen.memory_uses import MemoryUses
from tilecore.codegen.names import Names
from tilecore.codegen.refusal import refuse
from tilecore.codegen.source_emitter import EmittedKernel, SourceEmitter
from tilecore.codegen.syntax import Memory, Parameter, print_format
from tilecore.codegen.text import Text
from tilecore.dtypes import FACTS
from tilecore.errors import LimitError
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, PrimFunc
from tilecore.ir.thread_calls import ATOMIC_ADD, ATOMIC_ELEMENT, BLOCK_VOTE, DEVICE_ASSERT, FENCE, PRINT
from tilecore.ir.visit import collect

# Apple's compiler drops barriers where it is told that a threadgroup has at most one simdgroup (MoltenVK issue 2711)
LEAST_BOUND = 64
LANE = "tc_lane"  # the parameter for the thread's number in its simdgroup
MESSAGES = "tc_messages"  # the parameter for what the kernel prints and asserts


@dataclass(frozen=True)
class MetalDialect(Dialect):
    """The dialect, and what it is for. msl: the version as ``__METAL_VERSION__`` gives it. family: of GPUs."""

    msl: int = families.msl_number(families.DEFAULT_MSL)
    family: Family = field(default_factory=lambda: families.FAMILIES[families.DEFAULT])


class MetalEmitter(SourceEmitter):
    """Emits one kernel.

    has_lane: whether it needs its number in the simdgroup. has_votes: whether it counts votes in threadgroup memory.
    is_coherent: whether other threadgroups see what it writes while it runs. has_messages: whether it prints or
    asserts, into a buffer that is its last argument. formats: the texts of its prints, in order. packed: the scalars
    that are one structure, as the kernel has more parameters than slots."""

    dialect: MetalDialect

    def __init__(self, dialect: Dialect, names: Names, offsets: Mapping[str, int], uses: MemoryUses) -> None:
        super().__init__(dialect, names, offsets, uses)
        self.has_lane = self.has_votes = self.is_coherent = self._stands_alone = self.has_messages = False
        self.formats: list[str] = []
        self.packed: list[Parameter] = []

    def kernel(self, func: PrimFunc) -> tuple[str, EmittedKernel]:
        calls = collect(func.body, Call)
        names = {op_name(call) for call in calls}
        self.has_votes, self.has_messages = BLOCK_VOTE in names, bool(names & {PRINT, DEVICE_ASSERT})
        self.is_coherent = any(_orders_device_memory(call) for call in calls)
        text, facts = super().kernel(func)
        self._check_limits(facts)
        if self.has_messages:  # what tile_metal/runtime/messages.py needs to know
            facts.attributes.update(messages=True, formats=self.formats)
        if self.packed:
            facts.attributes[packed_scalars.ATTRIBUTE] = True
        return text, facts

    def _check_limits(self, facts: EmittedKernel) -> None:
        scalars = bool(self.packed) or sum(not parameter.is_buffer for parameter in self.parameters)
        buffers = sum(parameter.is_buffer for parameter in self.parameters)
        if buffers + scalars + self.has_messages > MAX_BUFFERS:
            raise LimitError(
                f"{self.symbol} has more parameters than a Metal kernel can have",
                found=f"{buffers} tensors and workspaces"
                + ", one slot for scalars and sizes" * bool(scalars)
                + ", one for messages" * self.has_messages,
                expected=f"at most {MAX_BUFFERS}: each takes a buffer slot",
                hint="put several tensors into one, or split the kernel",
            )
        if len(self.packed) > packed_scalars.MOST:
            raise LimitError(
                f"{self.symbol} has more scalars than a Metal kernel can have",
                found=f"{len(self.packed)} scalars and sizes",
                expected=f"at most {packed_scalars.MOST}: they share one slot of 4 KiB",
                hint="put them into a tensor",
            )
        shared = facts.shared_bytes + 4 * self.has_votes
        if shared > SHARED_BYTES:
            raise LimitError(
                f"{self.symbol} needs too much threadgroup memory",
                found=f"{facts.shared_bytes} bytes" + " and 4 for votes" * self.has_votes,
                expected=f"at most {SHARED_BYTES} bytes on {self.dialect.family.name}",
                hint="use smaller tiles, or fewer stages of a pipelined loop",
            )

    # -- the head ------------------------------------------------------------------------------------------------

    def parameter_type(self, parameter: Parameter) -> str:
        if not parameter.is_buffer:
            return f"constant {self.type_of(parameter.dtype)}&"
        return self._coherent(parameter.scope, parameter.read_only) + super().parameter_type(parameter)

    def _coherent(self, scope: str, read_only: bool) -> str:
        """What stands in front of pointers to memory that other threadgroups read while the kernel runs."""
        return "coherent(device) " * (self.is_coherent and scope in ("", "global") and not read_only)

    def kernel_head(self, head: KernelHead) -> str:
        """``[[kernel, max_total_threads_per_threadgroup(128)]] void name(...)``, each parameter with its buffer."""
        bound = max(prod(head.threads), LEAST_BOUND)
        types = list(head.parameters)
        if self.packed:
            structure = (f"constant {packed_scalars.structure(self)}&", packed_scalars.NAME)
            types = [*types[: -len(self.packed)], structure]
        parameters = [f"{kind} {name} [[buffer({slot})]]" for slot, (kind, name) in enumerate(types)]
        if self.has_messages:
            parameters.append(f"device uint* {MESSAGES} [[buffer({len(parameters)})]]")
        parameters.append("uint3 tc_block [[threadgroup_position_in_grid]]")
        parameters.append("uint3 tc_thread [[thread_position_in_threadgroup]]")
        if self.has_lane:
            parameters.append(f"uint {LANE} [[thread_index_in_simdgroup]]")
        attributes = f"[[kernel, max_total_threads_per_threadgroup({bound})]]"
        return f"{attributes} void {head.symbol}({', '.join(parameters)})"

    def take_parameters(self, func: PrimFunc) -> None:
        super().take_parameters(func)
        scalars = [parameter for parameter in self.parameters if not parameter.is_buffer]
        if len(self.parameters) + self.has_messages > MAX_BUFFERS and len(scalars) > 1:
            self.packed = scalars
            packed_scalars.declare(self, scalars)
            packed_scalars.emit_values(self, scalars)

    def emit_indices(self, func: PrimFunc, threads: tuple[int, int, int]) -> None:
        super().emit_indices(func, threads)
        if self.has_votes:  # threadgroup memory is declared in the kernel alone
            self.line("threadgroup metal::atomic_uint tc_votes;")

    # -- prints and assertions -------------------------------------------------------------------------------------

    def function(self, name: str, *arguments: Text | str) -> Text:
        if name in ("tc_print", "tc_assert"):
            return super().function(name, MESSAGES, *arguments)
        return super().function(name, *arguments)

    def print_statement(self, pieces: Sequence[str | tuple[str, Text]]) -> str:
        """The text stands in the source for its reader; the host has it, and the number is of it."""
        text, numbers = print_format(pieces)
        self.formats.append(text)
        number = str(len(self.formats))
        return self.call_statement(self.function("tc_print", number, self.quoted(text), *numbers))

    # -- values --------------------------------------------------------------------------------------------------

    def floating(self, value: float, dtype: str) -> Text:
        """Halves and bfloats are cast from a float32, which holds each of them exactly. Constants of float32 are
        decimal: C++ has hexadecimal ones from C++17 on, and Metal is C++14 before MSL 4.0."""
        if dtype in ("float16", "bfloat16") and math.isfinite(value):
            rounded = narrow_number(narrow_bits(value, dtype), dtype)
            return self.dialect.forms.narrow(self.type_of(dtype), self.floating(rounded, "float32"))
        text = super().floating(value, dtype)
        if dtype in ("float32", "tfloat32") and "0x" in text.text:
            digits = f"{as_single(value):.9g}".replace("e+", "e")
            return Text(digits + ("f" if "." in digits or "e" in digits else ".0f"), text.level)
        return text

    def widened(self, value: Text) -> Text:
        """A cast, which takes a value out of memory in which it is: but for memory of a coherent space, for which
        structures have no cast."""
        return self.function("tc_single", value) if self.is_coherent else super().widened(value)

    def select_value(self, node: Any) -> Text:
        return self._chosen(node.condition, node.true_value, node.false_value)

    def if_then_else_value(self, node: Call) -> Text:
        return self._chosen(*node.args)

    def _chosen(self, condition: Any, then: Any, otherwise: Any) -> Text:
        """Of the floats of at most 8 bits, which are structures, `?:` takes two values of one address space."""
        facts = FACTS.get(dtype_of(then))
        if facts is None or facts.kind != "float" or facts.bits > 8:
            return choices.chosen(self, condition, then, otherwise)
        values = (self.function("tc_value", self.value(value)) for value in (then, otherwise))
        return self.choice(self.value(condition), *values)

    def view(self, memory: Memory, source: Memory, read_only: bool) -> str:
        """Another element type of memory: of the same thread's accesses, so the compiler must not take for granted that
        memory has one type."""
        kind = self.type_of(memory.dtype)
        pointer = self.dialect.pointer(f"tc_aliased<{kind}>::type", source.scope, read_only)
        pointer = self._coherent(source.scope, read_only) + pointer
        return f"{pointer} {memory.name} = ({pointer}){source.name};"

    # -- operations across threads ---------------------------------------------------------------------------------

    def shuffle_value(self, node: Call) -> Text:
        """A shuffle of the whole simdgroup is one of Metal's; one of a part needs the number of the lane."""
        value, lane, kind, width = node.args
        text, lanes = self.value(value), constant(width)
        if FACTS[dtype_of(value)].bits < 32:  # C has made an int of it
            text = self.cast(dtype_of(value), text)
        arguments = [text, self.value(lane)]
        if lanes == families.SIMD:
            return self.function(f"tc_shuffle_{kind.value}", *arguments)
        if str(kind.value) == "xor":
            return self.function("tc_shuffle_xor", *arguments, self.value(width))
        self.has_lane = True
        return self.function(f"tc_shuffle_{kind.value}_of_part", *arguments, self.value(width), LANE)

    def block_vote_value(self, node: Call) -> Text:
        return self.function(f"tc_threadgroup_{node.args[1].value}", "&tc_votes", self.value(node.args[0]))

    def emit_evaluate(self, node: Any) -> None:
        self._stands_alone = op_name(node.value) == ATOMIC_ELEMENT
        super().emit_evaluate(node)
        self._stands_alone = False

    def atomic(self, kind: str, element: Any, operands: Sequence[Text], order: str) -> Text:
        """Refuses operations that no Apple GPU has: those of 64 bits, but for minimum and maximum without a result."""
        dtype = dtype_of(element)
        self._check_order(element, order)
        if FACTS[dtype].bits == 64:
            if self._is_ulong_extreme(kind, element):
                return self.function(f"tc_atomic_ulong_{kind}", self.address(element), *operands, *memory_order(order))
            refuse(
                element,
                "metal",
                _instead(dtype, self.dialect.family),
                f"an atomic {kind} of {dtype}",
            )
        return super().atomic(kind, element, operands, order)

    def _is_ulong_extreme(self, kind: str, element: Any) -> bool:
        """Is it a minimum or maximum of 64 bits that the GPU has: of uint64, in device memory, without a result?"""
        is_device = str(element.source.scope()) in ("", "global")
        has = self.dialect.family.has_ulong_extremes
        return has and self._stands_alone and is_device and kind in ("min", "max") and dtype_of(element) == "uint64"

    def emit_fence(self, node: Any) -> None:
        self._check_order(node, "seq_cst")
        super().emit_fence(node)

    def _check_order(self, node: Any, order: str) -> None:
        if order != "relaxed" and self.dialect.msl < 320:
            refuse(
                node,
                "metal",
                'MSL has fences from 3.2 (macOS 15) on: target="metal -msl=3.2"',
                f"memory order {order} in MSL {self.dialect.msl // 100}.{self.dialect.msl // 10 % 10}",
            )


def _instead(dtype: str, family: Family) -> str:
    """What a user can do without an atomic operation of 64 bits."""
    narrow = f"use {dtype.replace('64', '32')} where its range is enough, or combine partial results in a second kernel"
    if family.has_ulong_extremes:
        return "of 64 bits there are T.atomic_max and T.atomic_min of uint64 tensors, without the old value; " + narrow
    return narrow


def _orders_device_memory(call: Call) -> bool:
    """Does the call order what other threadgroups see?"""
    name = op_name(call)
    if name == FENCE:
        return str(call.args[0].value) != "block"
    if name == ATOMIC_ELEMENT:
        return str(call.args[3].value) != "relaxed"
    return name == ATOMIC_ADD and str(call.args[3].value) != "relaxed"

"""Computes two neighbouring 16-bit values that are extracted from one integer together, as the halves of a word.

Packed 4-bit weights are unpacked so: the bits of value v = 0, 1 are ``(x >> v * shift) & mask | bits``, where x is the
same for both and below 2^(16 - shift). ``x * (1 + 2^(16 - shift))`` has x in the low half and ``x >> shift`` in the
high half; one logical instruction then masks and sets the bits of both. Later arithmetic works on both halves at once
too, without moves that pack them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_cuda import instructions
from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.affine import coefficient
from tilecore.ir.analyzer import Analyzer
from tilecore.ir.build import cast, const, constant, dtype_of, op_name, seq, statements_of, with_body
from tilecore.ir.memory_writes import Memory, writes_of
from tilecore.ir.nodes import (
    Bind,
    BufferStore,
    Call,
    Cast,
    Expr,
    For,
    ForKind,
    PrimFunc,
    Var,
    structural_map,
    structural_mutate,
    tirx,
)
from tilecore.ir.visit import collect, loads, reads_variable, substitute, variables

_HALF = 16
_HALVES = ("float16", "bfloat16", "int16", "uint16")


@dataclass(frozen=True)
class _Extract:
    """The expression ``(x >> v * shift) & mask | bits`` for v = 0, 1."""

    x: Expr
    shift: int
    mask: int
    bits: int

    def pair(self) -> Expr:
        return instructions.bit_pair(cast(self.x, "uint32"), self.shift, self.mask, self.bits)


def pair_bits(func: PrimFunc, env: PassEnv) -> PrimFunc:
    memory = Memory(func.body)

    def loop(node: For, mutator: Any) -> Any:
        changed = mutator.default_mutate(node)
        if changed.kind != ForKind.UNROLLED or constant(changed.min) != 0 or constant(changed.extent) != 2:
            return changed
        return _with_pairs(changed, memory)

    return func.with_body(structural_mutate(func.body, [(For, loop)]))


def _with_pairs(node: For, memory: Memory) -> Any:
    """The loop, after definitions of the pairs whose halves it uses."""
    parts = statements_of(node.body)
    if not all(isinstance(part, Bind | BufferStore) for part in parts):
        return node  # a condition may guard what it reads
    values: dict[Var, Any] = {}
    for part in parts:
        if isinstance(part, Bind):
            values[part.var] = substitute(part.value, values)
    writes = writes_of(node.body)
    pairs: list[Bind] = []

    def half(call: Call) -> Any:
        if op_name(call) != "reinterpret" or dtype_of(call) not in _HALVES:
            return call
        extract = _extract_of(substitute(call.args[0], values), node.loop_var)
        if extract is None or any(memory.may_change(writes, load.source) for load in loads(extract.x)):
            return call
        pairs.append(Bind(Var("pair", "uint32"), extract.pair()))
        bits = instructions.half_of_pair(pairs[-1].var, node.loop_var)
        return tirx.reinterpret(dtype_of(call), bits)

    changed = [part if _is_conditional(part) else structural_map(part, (Call, half)) for part in parts]
    return seq([*pairs, with_body(node, seq(_used(changed)))]) if pairs else node


def _is_conditional(part: Any) -> bool:
    return any(op_name(call) == "if_then_else" for call in collect(part, Call))


def _used(parts: list[Any]) -> list[Any]:
    """The statements without the definitions of variables that no later statement reads."""
    used_parts: list[Any] = []
    for part in reversed(parts):
        if not isinstance(part, Bind) or any(part.var in variables(later) for later in used_parts):
            used_parts.insert(0, part)
    return used_parts


def _extract_of(value: Any, var: Var) -> _Extract | None:
    """The form :class:`_Extract` of a 16-bit value, with v = ``var``; None where it has another form."""
    value = _without_casts(value)
    bits, mask = 0, (1 << _HALF) - 1
    if isinstance(value, tirx.BitwiseOr) and constant(value.b) is not None:
        bits, value = int(constant(value.b) or 0), value.a
    if isinstance(value, tirx.BitwiseAnd) and constant(value.b) is not None:
        mask, value = int(constant(value.b) or 0), value.a
    if not isinstance(value, tirx.RShift):
        return None
    shift, x = coefficient(value.b, var), value.a
    first = Analyzer().simplify(substitute(value.b, {var: const(0, dtype_of(var))}))
    if not isinstance(shift, int) or not 0 < shift < _HALF or constant(first) != 0:
        return None
    if reads_variable(x, var) or collect(x, Call) or not 0 <= bits < 1 << _HALF or mask < 0:
        return None
    largest = 1 << (_HALF - shift)
    bounds = Analyzer().const_int_bound(x)
    if bounds.min_value < 0 or bounds.max_value >= largest:
        return None
    return _Extract(x, shift, mask & (largest - 1), bits)


def _without_casts(value: Any) -> Any:
    """The value without casts between integers of 16 and 32 bits, which keep its low 16 bits."""
    while isinstance(value, Cast) and dtype_of(value) in ("int16", "uint16", "int32", "uint32"):
        if dtype_of(value.value) not in ("int16", "uint16", "int32", "uint32"):
            break
        value = value.value
    return value


PAIR_BITS = Pass("pair_bits", pair_bits)

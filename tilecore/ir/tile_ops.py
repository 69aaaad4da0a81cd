"""The tile operations: calls in the IR that act on whole regions of buffers, until lowering picks an implementation.

Each is a registered TVM op ``tile.<name>``, called in an ``Evaluate`` statement (``atomic_element`` and
``shuffle`` are expressions). Their facts are in ``tile_op_table.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tilecore.ir.attributes import CallAttr, KernelHint
from tilecore.ir.build import as_operand, dtype_of, op_name
from tilecore.ir.nodes import Call, Evaluate, Span, Stmt, TensorRegion, Var
from tilecore.ir.register_call import register_call
from tilecore.ir.tile_op_table import PREFIX, SYNC_THREADS, TILE_OPS, TileOp
from tilecore.ir.visit import collect

for _op in TILE_OPS.values():
    register_call(_op.full_name)


def register_tile_op(op: TileOp) -> TileOp:
    """A backend's own operation on tiles, ``<kind>.<name>``: it takes part in everything that the core's do (choice
    among implementations, layouts of operands), and only implementations of the backend carry it out."""
    if "." not in op.name:
        raise ValueError(f"the operation name {op.name!r} is not of the form <kind>.<name>")
    if TILE_OPS.setdefault(op.name, op) != op:
        raise ValueError(f"{op.name} is already registered as another operation")
    register_call(op.full_name)
    return op


def tile_call(
    name: str,
    args: Sequence[Any],
    *,
    dtype: str = "void",
    hints: dict[str, Any] | None = None,
    span: Span | None = None,
) -> Call:
    """A call of tile op ``name``; Python ints and strings become immediates. ``hints`` are kept as call attributes."""
    op = TILE_OPS[name]
    return Call(op.full_name, [as_operand(arg) for arg in args], attrs=hints or None, ret_ty=dtype, span=span)


def tile_statement(
    name: str, args: Sequence[Any], *, hints: dict[str, Any] | None = None, span: Span | None = None
) -> Evaluate:
    """The call of tile operation ``name`` as a statement; the operands are as for :func:`tile_call`."""
    return Evaluate(tile_call(name, args, hints=hints), span=span)


@dataclass(frozen=True)
class TileCall:
    """A tile operation found in the IR, with its operands by name: immediates as Python values."""

    op: TileOp
    args: dict[str, Any]
    rest: tuple[Any, ...]
    hints: dict[str, Any]
    call: Call
    span: Span | None

    def rebuilt(self, args: Sequence[Any] | None = None, hints: dict[str, Any] | None = None) -> Evaluate:
        """The statement with other operands (all of them, in order) or hints, and the same type of the result."""
        operands = list(self.call.args if args is None else args)
        attrs = self.call.attrs if hints is None else hints
        return Evaluate(Call(self.call.op, operands, attrs=attrs, ret_ty=dtype_of(self.call) or "void"), span=self.span)

    @property
    def regions(self) -> list[TensorRegion]:
        """The operands that are regions of buffers, in order."""
        return [value for value in self.args.values() if isinstance(value, TensorRegion)]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["args"][name]
        except KeyError:
            raise AttributeError(name) from None


def tile_op_of(node: Any) -> TileOp | None:
    """The tile op that an Evaluate or a Call calls, or None."""
    call = node.value if isinstance(node, Evaluate) else node
    if not isinstance(call, Call):
        return None
    name = getattr(call.op, "name", "")
    return TILE_OPS.get(name[len(PREFIX) :]) if name.startswith(PREFIX) else None


def name_in_language(call: TileCall) -> str:
    """What the user wrote, such as ``T.reduce_sum``; of operations with several names the first."""
    called = call.hints.get(CallAttr.CALLED)
    if called:
        return str(called)
    return f"T.{call.op.spelled(str(call.args.get('kind', '')))}"


def as_tile_call(node: Any) -> TileCall | None:
    """``node`` (an Evaluate or a Call) as a :class:`TileCall`, or None when it is none."""
    op = tile_op_of(node)
    if op is None:
        return None
    call = node.value if isinstance(node, Evaluate) else node
    named: dict[str, Any] = {}
    rest: tuple[Any, ...] = ()
    for position, word in enumerate(op.operands):
        name, _, kind = word.partition(":")
        if kind.endswith("*"):
            rest = tuple(call.args[position:])
            break
        value = call.args[position]
        if kind == "int":
            value = int(value)
        elif kind == "str":
            value = str(value.value)
        named[name] = value
    hints = {str(k): v for k, v in call.attrs.items()} if call.attrs is not None else {}
    return TileCall(op, named, rest, hints, call, getattr(node, "span", None))


def hints_of(node: Any, key: str) -> list[TileCall]:
    """The hints of this key inside ``node``, in order."""
    calls = (as_tile_call(statement) for statement in collect(node, Evaluate))
    return [call for call in calls if call is not None and call.op.name == "annotate" and call.key == key]


def last_hint(node: Any, key: str) -> TileCall | None:
    """The hint of this key that holds inside ``node``: the last one."""
    return next(reversed(hints_of(node, key)), None)


def combines_threads(node: Any) -> bool:
    """Does a value in ``node`` depend on values of other threads?"""
    ops = (tile_op_of(call) for call in collect(node, Call))
    return any(op is not None and op.combines_threads for op in ops)


def is_barrier(node: Any) -> bool:
    """Is the statement a barrier of the tile language, ``T.sync_threads``?"""
    return isinstance(node, Evaluate) and op_name(node.value) == SYNC_THREADS


def reducers_of(body: Stmt) -> dict[Var, str]:
    """The buffers that T.alloc_reducer allocates, each with its operation."""
    return {call.rest[0].source: str(call.rest[1].value) for call in hints_of(body, KernelHint.REDUCER)}

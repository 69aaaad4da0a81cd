"""A walk over thread IR, with a method for each kind of node and for each call; and the check that there are no others.

A code generator that shares nothing with tilecore's emitters, or an analysis, derives a class from :class:`ThreadWalk`.
The nodes are those of thread_nodes.py, the calls those of thread_calls.py: docs/thread-ir.md lists both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from tilecore.errors import LoweringError, TilecoreError
from tilecore.ir.build import op_name
from tilecore.ir.nodes import Call, Evaluate, Expr, IRModule, PrimFunc, Stmt, TensorLoad, structural_walk
from tilecore.ir.spans import location_of_span
from tilecore.ir.thread_calls import SIMT, THREAD_CALLS, ThreadCall
from tilecore.ir.thread_nodes import STATEMENT, THREAD_NODES
from tilecore.ir.tile_op_table import PREFIX


@dataclass(frozen=True)
class CallArguments:
    """A call of the table with its arguments by name: constants as Python values, others as nodes.

    rest: what a last argument takes that stands for any number. node: the call itself.
    """

    call: ThreadCall
    by_name: dict[str, Any]
    rest: tuple[Any, ...]
    node: Call

    def __getitem__(self, name: str) -> Any:
        return self.by_name[name]

    def element(self, name: str) -> TensorLoad:
        """The load that names the element; the element itself is not read."""
        element = self.by_name[name]
        return element.args[0] if op_name(element) == "address_of" else element


def read_call(node: Any) -> CallArguments | None:
    """The arguments of a call of the table, or of the Evaluate around it; None for anything else."""
    node = node.value if isinstance(node, Evaluate) else node
    call = THREAD_CALLS.get(op_name(node)) if isinstance(node, Call) else None
    if call is None:
        return None
    by_name: dict[str, Any] = {}
    for position, argument in enumerate(call.arguments):
        if argument.kind.endswith("*"):
            return CallArguments(call, by_name, tuple(node.args[position:]), node)
        value = node.args[position]
        by_name[argument.name] = _constant(value, argument.kind)
    return CallArguments(call, by_name, (), node)


def _constant(value: Any, kind: str) -> Any:
    if kind == "int":
        return int(value)
    return str(value.value) if kind == "str" else value


class ThreadWalk:
    """Visits thread IR. Override the methods of the nodes and calls that matter; the others visit what is inside.

    - ``visit_<word>(node)`` for each kind of node, by the words of THREAD_NODES: ``visit_for``, ``visit_store``,
      ``visit_arithmetic`` and so on. What it returns is what :meth:`visit` returns.
    - ``call_<name>(arguments)`` for each call, by its name without the namespace: ``call_barrier``, ``call_isnan``. It
      takes CallArguments. They are looked up by name; a call without such a method has :meth:`other_call`.
    - ``own_call(node)`` for calls of the backend's own.

    A node that thread IR does not have raises LoweringError. Errors of tilecore name the user's line.
    """

    def visit(self, node: Stmt | Expr) -> Any:
        """Visits a node by the method of its kind. Raises LoweringError for one that thread IR does not have."""
        kind = THREAD_NODES.get(type(node).__name__)
        if kind is None:
            self.unknown(node)
        try:
            return getattr(self, kind.visit_method, self.visit_inside)(node)
        except TilecoreError as error:
            if kind.role == STATEMENT:
                error.at(location_of_span(getattr(node, "span", None)))
            raise

    def visit_inside(self, node: Any) -> None:
        """Visits the nodes directly inside a node, in the order in which they are evaluated."""
        for inner in nodes_inside(node):
            self.visit(inner)

    def visit_call(self, node: Call) -> Any:
        """A call, by the method of its name."""
        arguments = read_call(node)
        if arguments is None:
            return self.own_call(node)
        name = arguments.call.name.rpartition(".")[2]
        return getattr(self, f"call_{name}", self.other_call)(arguments)

    def other_call(self, arguments: CallArguments) -> Any:
        """A call of the table without a method: visits its arguments."""
        for argument, value in zip(arguments.call.arguments, arguments.node.args, strict=False):
            if argument.kind == "element":
                self.visit_element(value)
            elif argument.kind == "value":
                self.visit(value)
        for value in arguments.rest:
            self.visit(value)

    def visit_element(self, node: Any) -> None:
        """An argument that names an element, which is not read there: visits the index. An element of the backend's
        own is a call."""
        load = node.args[0] if op_name(node) == "address_of" else node
        for value in load.indices if isinstance(load, TensorLoad) else (load,):
            self.visit(value)

    def own_call(self, node: Call) -> Any:
        """A call that the table does not have: one of the backend's own. Raises LoweringError unless overridden."""
        self.unknown(node)

    def unknown(self, node: Any) -> NoReturn:
        """Raises the error for what is not thread IR."""
        raise unknown_part(node)


def unknown_part(node: Any, after: str = "") -> LoweringError:
    """The error for a node or a call that thread IR does not have. after: the pass after which it was there first."""
    name = f"a call of {op_name(node)}" if op_name(node) else f"a node {type(node).__name__}"
    return LoweringError(
        f"thread IR has {name}, which is not part of it{f' (since {after})' if after else ''}",
        location=location_of_span(getattr(node, "span", None)),
        found=" ".join(str(node).split())[:100],
        expected="the nodes and calls of docs/thread-ir.md, and calls <kind>.* of the backend's own",
        hint="a pass wrote it; a backend gives its own calls names that begin with its kind",
    )


def nodes_inside(node: Any) -> Iterator[Any]:
    """The statements and values directly inside a node of thread IR, in the order in which they are evaluated."""
    for field in THREAD_NODES[type(node).__name__].fields:
        if field.kind in ("statement", "value"):
            inner = getattr(node, field.name)
            if inner is not None:
                yield inner
        elif field.kind in ("statements", "index"):
            yield from getattr(node, field.name)
        elif field.kind == "calls":
            yield from node.args


def check_thread_ir(module: IRModule, origins: Mapping[str, str] | None = None) -> None:
    """Raises LoweringError where a kernel has a node or a call that thread IR does not have.

    origins: the pass after which each call, by its name, was there first.
    """
    for function in module.functions.values():
        for node in unknown_nodes(function) if isinstance(function, PrimFunc) else ():
            raise unknown_part(node, (origins or {}).get(op_name(node), ""))


def unknown_nodes(function: PrimFunc) -> list[Any]:
    """The nodes and calls in a kernel that thread IR does not have; calls of a backend's own are none of them."""
    unknown: list[Any] = []

    def look(node: Any) -> None:
        name = type(node).__name__
        if name not in THREAD_NODES or (name == "Call" and not _is_call_of_thread_ir(op_name(node))):
            unknown.append(node)

    structural_walk(function.body, ((Stmt, Expr), look), order="pre")
    return unknown


def _is_call_of_thread_ir(name: str) -> bool:
    is_own = "." in name and not name.startswith((SIMT, PREFIX))
    return is_own or name in THREAD_CALLS

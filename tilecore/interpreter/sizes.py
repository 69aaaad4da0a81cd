"""Sizes that are known only at the call: solved from the shapes and strides of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tilecore.errors import ArgumentError
from tilecore.interpreter.scope import Expression, Scope, VariableInfo
from tilecore.interpreter.state import State
from tilecore.ir.nodes import Expr, Var, structural_walk


@dataclass(frozen=True)
class Equation:
    """``expression`` over ``unknowns`` (variables by name, with their slots) equals a size of an argument.

    source: the parameter, "shape" or "stride", and the axis.
    """

    expression: Expression
    text: str
    unknowns: tuple[str, ...]
    source: tuple[int, str, int]
    plain: bool


def equation(scope: Scope, node: Expr, source: tuple[int, str, int], symbols: dict[str, VariableInfo]) -> Equation:
    """Compile a declared size; variables that have no value yet become ``symbols``: one for each name."""
    names: list[str] = []

    def variable(var: Var) -> None:
        info_of_symbol = symbols.get(str(var.name))
        if info_of_symbol is not None:
            scope.variables.setdefault(var, info_of_symbol)
        elif var not in scope.variables:
            symbols[str(var.name)] = scope.define(var)
        info = scope.variables[var]
        names.extend(name for name, other in symbols.items() if other is info and name not in names)

    structural_walk(node, [(Var, variable)])
    return Equation(scope.expression(node), str(node), tuple(names), source, isinstance(node, Var))


def solve(
    state: State,
    symbols: dict[str, VariableInfo],
    equations: Sequence[tuple[Equation, int, str]],
    free: Sequence[tuple[Equation, int, str]] = (),
    complete: bool = True,
) -> None:
    """Bind the symbols in ``state`` from (equation, actual size, what it is called), and check all of them.

    An equation with one unknown that is linear in it is solved; raises ArgumentError where sizes contradict. free:
    strides of axes of one or no element, which no access uses: they give values to symbols that have none otherwise,
    and are not checked. complete: False where tensors are absent: a size that no other tensor has is 0.
    """
    origin: dict[str, str] = {}
    for candidates in (equations, [*equations, *free]):
        pending = sorted(candidates, key=lambda item: not item[0].plain)
        while True:
            solved = next((item for item in pending if _solve_for_symbol(state, symbols, item, origin)), None)
            if solved is None:
                break
            pending.remove(solved)
    undetermined = [name for name in symbols if name not in origin]
    for name in undetermined if not complete else ():
        state.env[symbols[name].slot] = symbols[name].kind.const(0)
        origin[name] = "an absent tensor"
    if undetermined and complete:
        raise ArgumentError(
            f"the size {undetermined[0]} cannot be found from the arguments",
            found=", ".join(
                f"{quantity} = {item.text}" for item, _, quantity in equations if undetermined[0] in item.unknowns
            ),
            expected=f"a shape or stride that is {undetermined[0]} itself, or linear in it",
        )
    for item, actual, quantity in equations:
        value = int(item.expression(state))
        if value != actual:
            names = [name for name in item.unknowns if name in origin]
            facts = ", ".join(f"{name} = {int(state.env[symbols[name].slot])} from {origin[name]}" for name in names)
            raise ArgumentError(
                f"{quantity} is {actual}",
                found=str(actual),
                expected=(f"{item.text} = {value}" if item.unknowns else str(value)) + (f" ({facts})" if facts else ""),
            )


def _solve_for_symbol(
    state: State, symbols: dict[str, VariableInfo], item: tuple[Equation, int, str], origin: dict[str, str]
) -> bool:
    """Solves the equation for the only symbol in it that has no value; False where it cannot be. ``origin`` records,
    by symbol, the size from which it was solved."""
    unknown = [name for name in item[0].unknowns if name not in origin]
    if len(unknown) != 1 or not _solve_one(state, symbols[unknown[0]], *item):
        return False
    origin[unknown[0]] = item[2]
    return True


def _solve_one(state: State, unknown: VariableInfo, item: Equation, actual: int, quantity: str) -> bool:
    """Set the unknown of a linear equation; False when it is not linear."""

    def size_for(value: int) -> int:
        state.env[unknown.slot] = unknown.kind.const(value)
        return int(item.expression(state))

    if item.plain:
        value = actual
    else:
        base, slope = size_for(0), size_for(1) - size_for(0)
        if slope == 0 or size_for(2) - size_for(1) != slope:
            return False
        value = (actual - base) // slope
    if size_for(value) != actual:
        raise ArgumentError(
            f"{quantity} does not fit its declaration",
            found=str(actual),
            expected=f"{item.text} for some {item.unknowns[0]}",
        )
    return True

"""Sizes that are known only at the call: solved from the shapes and strides of the arguments."""

from __future__ import annotations

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
        known = symbols.get(str(var.name))
        if known is not None:
            scope.variables.setdefault(var, known)
        elif var not in scope.variables:
            symbols[str(var.name)] = scope.define(var)
        info = scope.variables[var]
        names.extend(name for name, known in symbols.items() if known is info and name not in names)

    structural_walk(node, [(Var, variable)])
    return Equation(scope.expression(node), str(node), tuple(names), source, isinstance(node, Var))


def solve(state: State, symbols: dict[str, VariableInfo], equations: list[tuple[Equation, int, str]]) -> None:
    """Bind the symbols in ``state`` from (equation, actual size, what it is called), and check all of them.

    An equation with one unknown that is linear in it is solved; raises ArgumentError where sizes contradict.
    """
    origin: dict[str, str] = {}
    pending = sorted(equations, key=lambda item: not item[0].plain)
    progress = True
    while progress:
        progress = False
        for candidate in list(pending):
            unknown = [name for name in candidate[0].unknowns if name not in origin]
            if len(unknown) == 1 and _solve_one(state, symbols[unknown[0]], *candidate):
                origin[unknown[0]] = candidate[2]
                pending.remove(candidate)
                progress = True
    lost = [name for name in symbols if name not in origin]
    if lost:
        raise ArgumentError(
            f"the size {lost[0]} cannot be found from the arguments",
            found=", ".join(f"{what} = {item.text}" for item, _, what in equations if lost[0] in item.unknowns),
            expected=f"a shape or stride that is {lost[0]} itself, or linear in it",
        )
    for item, actual, what in equations:
        value = int(item.expression(state))
        if value != actual:
            names = [name for name in item.unknowns if name in origin]
            facts = ", ".join(f"{name} = {int(state.env[symbols[name].slot])} from {origin[name]}" for name in names)
            raise ArgumentError(
                f"{what} is {actual}",
                found=str(actual),
                expected=(f"{item.text} = {value}" if item.unknowns else str(value)) + (f" ({facts})" if facts else ""),
            )


def _solve_one(state: State, unknown: VariableInfo, item: Equation, actual: int, what: str) -> bool:
    """Set the unknown of a linear equation; False when it is not linear."""

    def at(value: int) -> int:
        state.env[unknown.slot] = unknown.kind.const(value)
        return int(item.expression(state))

    if item.plain:
        value = actual
    else:
        base, slope = at(0), at(1) - at(0)
        if slope == 0 or at(2) - at(1) != slope:
            return False
        value = (actual - base) // slope
    if at(value) != actual:
        raise ArgumentError(
            f"{what} does not fit its declaration",
            found=str(actual),
            expected=f"{item.text} for some {item.unknowns[0]}",
        )
    return True

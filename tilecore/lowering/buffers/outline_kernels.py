"""Splits a function into its kernels: one PrimFunc for each T.Kernel, with its grid and threads as attributes.

Every kernel takes the same parameters: the function's buffers, its workspaces, its scalars, then its symbols. The
attributes are ``tile.grid`` (extents along x, y, z), ``tile.block_vars`` (the variables of the block's indices),
``tile.threads`` and ``tile.thread_vars``.
Views of tensors and workspaces that are declared before the kernels move into the kernels that use them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tilecore.contract.passes import Pass, PassEnv
from tilecore.contract.state import Workspaces
from tilecore.errors import UnsupportedError
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import const, constant, seq, statements_of
from tilecore.ir.nodes import AllocBuffer, AttrStmt, DeclBuffer, IntImm, IRModule, PrimFunc, Stmt, Var, is_buffer_var
from tilecore.ir.scopes import is_global
from tilecore.ir.sizes import symbols_in
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import variables
from tilecore.lowering.analysis.kernels import axes_and_code, is_axis


def outline_kernels(func: PrimFunc | IRModule, env: PassEnv) -> IRModule:
    if isinstance(func, IRModule):
        return func  # a backend's own pass has split it
    name = str(func.attrs["global_symbol"])
    workspaces, views, kernels = [], [], []
    for statement in statements_of(func.body):
        if isinstance(statement, AllocBuffer) and is_global(statement.buffer):
            workspaces.append(statement.buffer)
        elif isinstance(statement, DeclBuffer):
            views.append(statement)
        elif is_axis(statement):
            kernels.append(statement)
        else:
            raise UnsupportedError(
                "a statement stands outside T.Kernel",
                location=location_of_span(getattr(statement, "span", None)),
                expected="T.Kernel, T.alloc_global and views of tensors only",
                hint="move it into a kernel",
            )
    symbols = (func.attrs or {}).get(FunctionAttr.SYMBOLS)  # of the parameters before flatten_buffers
    params = slot_params(func, workspaces, symbols_in(func.params) if symbols is None else symbols)
    env.publish(Workspaces(workspaces))
    functions = {}
    # a function called just "kernel" gets the ending too: that word is a keyword of some languages
    stem = name if name.endswith("_kernel") else f"{name}_kernel"
    for index, kernel in enumerate(kernels):
        symbol = stem if len(kernels) == 1 else f"{stem}_{index}"
        functions[symbol] = _kernel(kernel, views, params, symbol)
    return IRModule(functions)


def slot_params(func: PrimFunc, workspaces: list[Var], symbols: Iterable[Var]) -> list[Var]:
    """The parameters of every kernel, in the order of an artifact's slots."""
    buffers = [p for p in func.params if is_buffer_var(p)]
    scalars = [p for p in func.params if not is_buffer_var(p)]
    return [*buffers, *workspaces, *scalars, *symbols]


def _kernel(node: AttrStmt, views: list[DeclBuffer], params: list[Var], symbol: str) -> PrimFunc:
    extents: dict[str, Any] = {}
    names: dict[str, Var] = {}
    levels, body = axes_and_code(node)
    for level in levels:
        extents[str(level.node.thread_tag)] = level.value
        names[str(level.node.thread_tag)] = level.node.var
    unit_extent = IntImm("int32", 1)
    func = PrimFunc(params, seq([*_views_of(body, views), *statements_of(body)]))
    attributes = {
        "global_symbol": symbol,
        FunctionAttr.GRID: [extents.get(f"blockIdx.{x}", unit_extent) for x in "xyz"],
        FunctionAttr.BLOCK_VARS: [names.get(f"blockIdx.{x}", Var(f"b{x}", "int32")) for x in "xyz"],
        FunctionAttr.THREADS: [const(constant(extents.get(f"threadIdx.{x}", unit_extent)), "int32") for x in "xyz"],
        FunctionAttr.THREAD_VARS: [names.get(f"threadIdx.{x}", Var(f"t{x}", "int32")) for x in "xyz"],
    }
    for key, value in attributes.items():
        func = func.with_attr(key, value)
    return func


def _views_of(body: Stmt, views: list[DeclBuffer]) -> list[DeclBuffer]:
    """The views that ``body`` uses, and the views that they are derived from."""
    used_variables, used = variables(body), []
    for view in reversed(views):
        if view.buffer in used_variables:
            used_variables |= variables(view.data)
            used.append(view)
    return used[::-1]


OUTLINE_KERNELS = Pass("outline_kernels", outline_kernels, leaves=(Workspaces,))

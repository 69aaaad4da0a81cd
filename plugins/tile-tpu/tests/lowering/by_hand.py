"""Helpers to write kernels of commands by hand."""

from __future__ import annotations

from typing import Any

from tile_tpu.ir.instructions import ELEMENT, SET_ELEMENT, command
from tile_tpu.ir.views import LOCAL, View

from tilecore.contract.passes import PassEnv
from tilecore.ir.build import const, seq
from tilecore.ir.nodes import AllocBuffer, Call, Evaluate, For, ForKind, IRModule, PrimFunc, Stmt, Var, tirx
from tilecore.target import Target

LANES = 64


def local(name: str, elements: int = 64, dtype: str = "float32") -> Var:
    return tirx.decl_buffer([elements], dtype, name, scope=LOCAL, layout=None)


def tensor(name: str, elements: int = 1 << 16, dtype: str = "float32") -> Var:
    return tirx.decl_buffer([elements], dtype, name, scope="global", layout=None)


def tile(buffer: Var, rows: Any = LANES, columns: Any = 64, offset: Any = 0) -> View:
    """A view of a tile with its rows in lanes."""
    return View(buffer, 0, offset, (1, rows, 1, columns), (64, 64, 64, 1))


def piece(buffer: Var, offset: Any = 0, rows: Any = LANES, columns: Any = 64) -> View:
    """A view of a part of a tensor with rows of 64."""
    return View(buffer, 0, offset, (1, rows, 1, columns), (4096, 64, 64, 1))


def loop(name: str, extent: Any, *body: Stmt, notes: dict[str, Any] | None = None, var: Var | None = None) -> For:
    var = Var(name, "int32") if var is None else var
    size = const(extent, "int32") if isinstance(extent, int) else extent
    return For(var, const(0, "int32"), size, ForKind.SERIAL, seq(body), annotations=notes)


def do(name: str, *operands: Any) -> Stmt:
    return command(name, *operands)


def alloc(*buffers: Var) -> list[Stmt]:
    return [AllocBuffer(buffer) for buffer in buffers]


def element(buffer: Var, lane: Any = 0, offset: Any = 0) -> Call:
    numbers = [const(n, "int32") if isinstance(n, int) else n for n in (lane, offset)]
    return Call(ELEMENT, [buffer, *numbers], ret_ty=str(buffer.dtype))


def set_element(buffer: Var, value: Any, lane: int = 0, offset: int = 0) -> Stmt:
    return Evaluate(Call(SET_ELEMENT, [buffer, const(lane, "int32"), const(offset, "int32"), value], ret_ty="void"))


def kernel(params: list[Var], *body: Stmt, name: str = "made", **attributes: Any) -> PrimFunc:
    func = PrimFunc(params, seq(body)).with_attr("global_symbol", name)
    for key, value in attributes.items():
        func = func.with_attr(key, value)
    return func


ANY_BANK = {"tl.disable_bank_aware_allocation": True}


def environment(config: dict[str, Any] | None = None, **attributes: Any) -> PassEnv:
    return PassEnv(Target("tpu", attributes), None, config=config or {})  # type: ignore[arg-type]


def run(step: Any, func: PrimFunc, env: PassEnv | None = None) -> PrimFunc:
    name = str(func.attrs["global_symbol"])
    return step.run(IRModule({name: func}), environment() if env is None else env)[name]

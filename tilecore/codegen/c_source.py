"""Thread IR as C-family source (docs/simt.md): one translation unit for a module, a kernel for each function."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tilecore.codegen.dialect import Dialect, KernelHead
from tilecore.codegen.expressions import Memory
from tilecore.codegen.memory_uses import MemoryUses
from tilecore.codegen.names import Names
from tilecore.codegen.statements import Statements
from tilecore.codegen.text import Text
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import IRModule, PrimFunc, Var, is_buffer_var
from tilecore.ir.visit import variables


@dataclass(frozen=True)
class EmittedKernel:
    """What the artifact's entry needs to know: bytes of shared memory, the texts of assertions, launch attributes."""

    shared_bytes: int = 0
    assertions: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Emitted:
    """The source of a module, and facts of its kernels by symbol."""

    text: str
    kernels: dict[str, EmittedKernel]

    def facts(self) -> dict[str, Any]:
        """The facts as ``Codegen.function`` returns them."""
        return {
            symbol: {
                "shared_bytes": kernel.shared_bytes,
                "attributes": {**kernel.attributes, "assertions": list(kernel.assertions)},
            }
            for symbol, kernel in self.kernels.items()
        }


def emit_module(module: IRModule, dialect: Dialect) -> Emitted:
    """Emit every kernel of ``module``. Raises UnsupportedError, at the user's line, for what has no form."""
    preludes: dict[str, None] = {}
    texts, kernels = [], {}
    for var, func in module.functions.items():
        symbol = str(var.name_hint)
        text, kernels[symbol] = _kernel(symbol, func, dialect)
        texts.append(text)
        prelude = func.attrs.get("tile.prelude")
        if prelude:
            preludes[str(prelude).strip()] = None
    return Emitted("\n\n".join([f'#include "{dialect.include}"', *preludes, *texts]) + "\n", kernels)


def _kernel(symbol: str, func: PrimFunc, dialect: Dialect) -> tuple[str, EmittedKernel]:
    access = func.attrs.get("simt.access") or {}
    read_only = [p for p in func.params if is_buffer_var(p) and str(access.get(str(p.name), "rw")) == "r"]
    names = Names(dialect.reserved | {dialect.arena_name, symbol})
    offsets = {str(k): int(v) for k, v in (func.attrs.get("simt.shared") or {}).items()}
    emit = Statements(dialect, names, offsets, MemoryUses(func.body, read_only))
    shared = {str(name) for name in func.attrs.get("simt.may_alias") or ()}
    parameters = [_parameter(emit, param, param in set(read_only), str(param.name) in shared) for param in func.params]
    shared_bytes = int(func.attrs.get("simt.shared_bytes") or 0)
    threads = _three(func.attrs["tile.threads"])
    cluster = _three(func.attrs.get("simt.cluster") or (1, 1, 1))
    min_blocks = int(func.attrs.get("simt.min_blocks") or 0)
    _indices(emit, func, threads)
    if shared_bytes:
        emit.line(dialect.arena(shared_bytes))
    emit.emit(func.body)
    attributes: dict[str, Any] = json.loads(str(func.attrs.get("simt.launch") or "{}"))
    head = dialect.head(KernelHead(symbol, parameters, threads, min_blocks, cluster, dict(attributes)))
    if cluster != (1, 1, 1):
        attributes["cluster"] = list(cluster)
    if min_blocks:
        attributes["min_blocks"] = min_blocks
    text = "\n".join([f"{head} {{", *emit.lines, "}"])
    return text, EmittedKernel(shared_bytes, tuple(emit.assertions), attributes)


def _parameter(emit: Statements, param: Var, read_only: bool, shared: bool) -> tuple[str, str]:
    """Type and name. shared: another parameter may be the same tensor, and what threads do in it meets."""
    name = emit.names.take(str(param.name))
    dtype = dtype_of(param)
    kind = emit.expressions.type_of(dtype, param)
    if is_buffer_var(param):
        emit.expressions.memory[param] = Memory(name, dtype)
        restrict = f" {emit.dialect.restrict}" if emit.dialect.restrict and not shared else ""
        return f"{emit.dialect.pointer(kind, str(param.scope()), read_only)}{restrict}", name
    emit.expressions.variables[param] = Text(name)
    return kind, name


def _three(sizes: Any) -> tuple[int, int, int]:
    x, y, z = (constant(size) if not isinstance(size, int) else size for size in sizes)
    return int(x or 0), int(y or 0), int(z or 0)


def _indices(emit: Statements, func: PrimFunc, threads: tuple[int, int, int]) -> None:
    """The indices of the block and the thread, of which only those that are used are read."""
    used = variables(func.body)
    for param in func.params:
        for var in variables(list(param.shape)) if is_buffer_var(param) else ():
            emit.bounds.bind_size(var)
    blocks = zip(func.attrs["tile.block_vars"], func.attrs["tile.grid"], emit.dialect.block_index, strict=True)
    inside = zip(func.attrs["tile.thread_vars"], threads, emit.dialect.thread_index, strict=True)
    for group in (blocks, inside):
        words = []
        for var, extent, text in group:
            emit.bounds.bind_range(var, 0, extent)
            if var in used:
                name = emit.names.take(str(var.name))
                emit.expressions.variables[var] = Text(name)
                words.append(f"{name} = {text}")
        if words:
            emit.line(f"const int {', '.join(words)};")

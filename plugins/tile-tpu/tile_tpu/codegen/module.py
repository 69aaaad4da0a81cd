"""Emits a module as one C file, which has a struct of arguments, a function and its registration for each kernel.

A kernel runs once on each core of the launch; every core gets the same struct. Its fields are the slots of an artifact
in order (tensors and workspaces as addresses, scalars, sizes), at C's natural alignment.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tile_tpu.chips import Chip
from tile_tpu.codegen.dialect import dialect
from tile_tpu.codegen.statements import ControlCode
from tile_tpu.ir.attributes import TpuFunctionAttr
from tile_tpu.ir.views import as_view
from tilecore.codegen.expressions import Memory
from tilecore.codegen.memory_uses import MemoryUses
from tilecore.codegen.names import Names
from tilecore.codegen.source_emitter import reserved_names
from tilecore.codegen.text import Text
from tilecore.errors import LoweringError
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import dtype_of, op_name
from tilecore.ir.intrinsics import ADDRESS
from tilecore.ir.nodes import BufferStore, Call, DeclBuffer, IRModule, PrimFunc, TensorLoad, Var, is_buffer_var
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect, variables

ADDRESS_TYPE = "uint64"  # the type of a field that is an address


def emit_module(module: IRModule, chip: Chip) -> tuple[str, dict[str, Any]]:
    """(the source, {symbol: {"attributes": ...}}). Raises UnsupportedError at the user's line for operations that
    cannot be emitted."""
    preludes: dict[str, None] = {}
    texts, facts = [], {}
    for var, func in module.functions.items():
        symbol = str(var.name_hint)
        kernel = _Kernel(symbol, func, chip)
        texts.append(kernel.text())
        facts[symbol] = {"attributes": kernel.attributes()}
        prelude = func.attrs.get(FunctionAttr.PRELUDE)
        if prelude:
            preludes[str(prelude).strip()] = None
    return "\n\n".join([f'#include "{dialect(chip).include}"', *preludes, *texts]) + "\n", facts


@dataclass(frozen=True)
class _Uses:
    """The parameters by the accesses of the body. elements: the control core accesses single elements. views: commands
    access them."""

    elements: set[Var]
    views: set[Var]

    @staticmethod
    def of(body: Any) -> _Uses:
        elements = {node.source for node in collect(body, TensorLoad)}
        elements |= {node.buffer for node in collect(body, BufferStore)}
        elements |= {node.data.args[0] for node in collect(body, DeclBuffer)}
        roots = memory_roots(body)
        views = {view.buffer for call in collect(body, Call) if (view := as_view(call)) is not None}
        views = {roots.get(buffer, buffer) for buffer in views}
        for call in collect(body, Call):
            if op_name(call) == ADDRESS:
                elements.add(call.args[0].source)
        return _Uses(elements, views)


class _Kernel:
    """Emits one kernel."""

    def __init__(self, symbol: str, func: PrimFunc, chip: Chip) -> None:
        self.symbol, self.func = symbol, func
        self.record = f"{symbol.removesuffix('_kernel')}_args"
        chip_dialect = dialect(chip)
        names = Names(reserved_names(func, chip_dialect) | {symbol, self.record})
        offsets = {str(k): int(v) for k, v in (func.attrs.get(TpuFunctionAttr.LOCAL_ADDRESSES) or {}).items()}
        self.emit = ControlCode(chip_dialect, names, offsets, MemoryUses(func.body), chip)
        self.fields: list[tuple[str, str]] = []  # C type, name
        self.types: list[str] = []

    def text(self) -> str:
        self._parameters()
        self.emit.emit(self.func.body)
        record = ["typedef struct {", *self._declarations(), f"}} {self.record};"]
        head = [*record, "", f"int {self.symbol}(const void* arguments) {{"]
        start = [f"  const {self.record}* args = arguments;"] if self.fields else []
        tail = ["  tpu_poll();", "  return 0;", "}", f"TPUKERNEL_FUNC_REGISTER({self.symbol})"]
        return "\n".join([*head, *start, "  tpu_initialize();", *self.emit.lines, *tail])

    def attributes(self) -> dict[str, Any]:
        cores = self.func.attrs.get(TpuFunctionAttr.CORES)
        if cores is None:
            raise LoweringError(
                f"the kernel {self.symbol} has no number of cores",
                expected=f"the attribute {TpuFunctionAttr.CORES}, which the pass spread_blocks sets",
                hint="please report it",
            )
        return {"cores": int(cores), "fields": self.types, "assertions": list(self.emit.assertions)}

    def _declarations(self) -> list[str]:
        """The fields of the struct; adjacent fields of one type share a line."""
        lines: list[str] = []
        last = ""
        for kind, name in self.fields:
            if kind == last and len(lines[-1]) + len(name) < 110:
                lines[-1] = f"{lines[-1][:-1]}, {name};"
            else:
                lines.append(f"  {kind} {name};")
            last = kind
        return lines or ["  int unused;"]

    def _parameters(self) -> None:
        """Declares a field for each parameter, and a local variable for each that the body uses."""
        emit, body = self.emit, self.func.body
        uses, used = _Uses.of(body), variables(body)
        for param in self.func.params:
            for size in variables(list(param.shape)) if is_buffer_var(param) else ():
                emit.bounds.bind_size(size)
        for param in self.func.params:
            name = emit.names.take(str(param.name))
            if is_buffer_var(param):
                self._tensor(param, name, uses)
                continue
            dtype = dtype_of(param)
            kind = emit.expressions.type_of(dtype, param)
            self._field(kind, name, dtype)
            emit.expressions.variables[param] = Text(name)
            if param in used:
                emit.line(f"const {kind} {name} = args->{name};")
        for view, root in memory_roots(body).items():
            if root in emit.addresses:
                emit.addresses[view] = emit.addresses[root]

    def _field(self, kind: str, name: str, dtype: str) -> None:
        self.fields.append((kind, name))
        self.types.append(dtype)

    def _tensor(self, param: Var, name: str, uses: _Uses) -> None:
        """Declares ``name``, a pointer for the control core, and ``name_addr``, the address for commands, as needed."""
        emit, dtype = self.emit, dtype_of(param)
        kind = emit.expressions.type_of(dtype, param)
        self._field("unsigned long long", name, ADDRESS_TYPE)
        emit.expressions.memory[param] = Memory(name, dtype)
        if param in uses.views:
            emit.addresses[param] = emit.names.take(f"{name}_addr")
            emit.line(f"const system_addr_t {emit.addresses[param]} = args->{name};")
        if param in uses.elements:
            emit.line(f"{kind}* {name} = tpu_global_mem_addr(args->{name});")

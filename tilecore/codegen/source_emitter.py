"""The emitter of whole kernels: a backend whose language is not of C's family derives its own from SourceEmitter."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tilecore.codegen.calls import CallValues
from tilecore.codegen.dialect import Dialect, KernelHead
from tilecore.codegen.memory_uses import MemoryUses
from tilecore.codegen.names import Names, words_of
from tilecore.codegen.statements import Statements
from tilecore.codegen.syntax import Memory, Parameter
from tilecore.codegen.text import Text
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import constant, dtype_of, op_name
from tilecore.ir.nodes import Call, PrimFunc, Stmt, Var, is_buffer_var
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect, variables

_EXTERN = ("call_extern", "call_pure_extern")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class EmittedKernel:
    """What the artifact's entry needs to know: bytes of shared memory, the texts of assertions, launch attributes."""

    shared_bytes: int = 0
    assertions: tuple[str, ...] = ()
    attributes: dict[str, Any] = field(default_factory=dict)


class SourceEmitter(CallValues, Statements):
    """Emits one kernel. Every method may be overridden; docs/hooks/codegen.md lists them.

    - Methods of Syntax take emitted text and return text: how the language writes it.
    - Methods ``..._value`` take an expression of thread IR and return text.
    - Methods ``emit_...`` take a statement of thread IR and append lines.

    :meth:`for_kernel` makes one; ``symbol`` is the kernel's name in the source.
    """

    def __init__(self, dialect: Dialect, names: Names, offsets: Mapping[str, int], uses: MemoryUses) -> None:
        super().__init__(dialect, names, offsets, uses)
        self.symbol = ""
        self.parameters: list[Parameter] = []

    @classmethod
    def for_kernel(
        cls, symbol: str, func: PrimFunc, dialect: Dialect, used_names: frozenset[str] = frozenset()
    ) -> SourceEmitter:
        """The emitter of ``func``. symbol: its name in the source. taken: names that the module's other
        kernels have declared."""
        offsets = {str(name): int(offset) for name, offset in (func.attrs.get(FunctionAttr.SHARED) or {}).items()}
        names = Names(cls.reserved_names(func, dialect) | used_names | {symbol})
        emitter = cls(dialect, names, offsets, MemoryUses(func.body, read_only_parameters(func)))
        emitter.symbol = symbol
        return emitter

    @classmethod
    def reserved_names(cls, func: PrimFunc, dialect: Dialect) -> frozenset[str]:
        """Names that no variable, parameter or buffer of ``func`` may have."""
        return reserved_names(func, dialect)

    def kernel(self, func: PrimFunc) -> tuple[str, EmittedKernel]:
        """The text of the whole kernel, and what its entry needs to know. Raises UnsupportedError, at the user's line,
        for what has no form."""
        self.has_directives = FunctionAttr.LINE_DIRECTIVES in func.attrs
        if self.has_directives:
            places = map(location_of_span, (statement.span for statement in collect(func.body, Stmt)))
            first = next(filter(None, places), None)
            self._origin = None if first is None else (first.file, first.line)
        start = self._directives()
        self.take_parameters(func)
        shared_bytes = int(func.attrs.get(FunctionAttr.SHARED_BYTES) or 0)
        threads = _three(func.attrs[FunctionAttr.THREADS])
        self.emit_indices(func, threads)
        has_arena = shared_bytes or FunctionAttr.DYNAMIC_SHARED in func.attrs
        arena = self.shared_arena(shared_bytes) if has_arena else ""
        if arena:
            self.line(arena)
        self.emit(func.body)
        attributes: dict[str, Any] = json.loads(str(func.attrs.get(FunctionAttr.LAUNCH) or "{}"))
        cluster = _three(func.attrs.get(FunctionAttr.CLUSTER) or (1, 1, 1))
        min_blocks = int(func.attrs.get(FunctionAttr.MIN_BLOCKS) or 0)
        types = [(self.parameter_type(parameter), parameter.name) for parameter in self.parameters]
        head = self.kernel_head(KernelHead(self.symbol, types, threads, min_blocks, cluster, dict(attributes)))
        if cluster != (1, 1, 1):
            attributes["cluster"] = list(cluster)
        if min_blocks:
            attributes["min_blocks"] = min_blocks
        if not self.lines:
            self._plain_line(self.empty_block())
        end = [*self._directives(), self.block_end] if self.block_end else []
        text = "\n".join([*self.declarations.values(), *start, f"{head}{self.block_start}", *self.lines, *end])
        return text, EmittedKernel(shared_bytes, tuple(self.assertions), attributes)

    def take_parameters(self, func: PrimFunc) -> None:
        """Gives every parameter its name, and notes what stands for it."""
        read_only = set(read_only_parameters(func))
        may_alias = {str(name) for name in func.attrs.get(FunctionAttr.NO_RESTRICT) or ()}
        for param in func.params:
            name, dtype = self.names.take(str(param.name)), dtype_of(param)
            self.type_of(dtype, param)
            if not is_buffer_var(param):
                parameter = Parameter(name, dtype, is_buffer=False)
                self.variables[param] = self.parameter_value(parameter)
            else:
                scope = str(param.scope()) or "global"
                aliased = str(param.name) in may_alias
                parameter = Parameter(name, dtype, True, param in read_only, aliased, scope)
                self.memory[param] = Memory(name, dtype, scope=scope)
            self.parameters.append(parameter)

    def emit_indices(self, func: PrimFunc, threads: tuple[int, int, int]) -> None:
        """The indices of the block and of the thread, of which only those that are used are read."""
        used = variables(func.body)
        for param in func.params:
            for var in variables(list(param.shape)) if is_buffer_var(param) else ():
                self.bounds.bind_size(var)
        blocks = zip(
            func.attrs[FunctionAttr.BLOCK_VARS], func.attrs[FunctionAttr.GRID], self.dialect.block_index, strict=True
        )
        inside = zip(func.attrs[FunctionAttr.THREAD_VARS], threads, self.dialect.thread_index, strict=True)
        for group in (blocks, inside):
            names = []
            for var, extent, text in group:
                self.bounds.bind_range(var, 0, extent)
                if var in used:
                    name = self.names.take(str(var.name))
                    self.variables[var] = Text(name)
                    names.append((name, text))
            if names:
                self.line(self.indices(names))


def reserved_names(func: PrimFunc, dialect: Dialect) -> frozenset[str]:
    """The words of the dialect and what its tables name, the functions of the user's source that ``func`` calls, the
    macros of that source, and the parameters that its launcher adds: records of ``simt.launch`` name them as their
    "parameter"."""
    texts = [*dialect.types.values(), *dialect.spaces.values(), *dialect.block_index, *dialect.thread_index]
    texts += [name for names in dialect.math.values() for name in names]
    texts += [str(call.args[0].value) for call in collect(func.body, Call) if op_name(call) in _EXTERN]
    texts += _MACRO.findall(str(func.attrs.get(FunctionAttr.PRELUDE) or ""))
    for records in json.loads(str(func.attrs.get(FunctionAttr.LAUNCH) or "{}")).values():
        for record in records if isinstance(records, list) else ():
            texts += [str(record["parameter"])] if isinstance(record, dict) and "parameter" in record else []
    return dialect.reserved | {dialect.arena_name} | words_of(texts)


def read_only_parameters(func: PrimFunc) -> list[Var]:
    """The buffers among a kernel's parameters that it only reads."""
    access = func.attrs.get(FunctionAttr.ACCESS) or {}
    return [param for param in func.params if is_buffer_var(param) and str(access.get(str(param.name), "rw")) == "r"]


def _three(sizes: Any) -> tuple[int, int, int]:
    x, y, z = (constant(size) if not isinstance(size, int) else size for size in sizes)
    return int(x or 0), int(y or 0), int(z or 0)

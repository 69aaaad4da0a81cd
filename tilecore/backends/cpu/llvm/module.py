"""A module of kernels as LLVM IR text.

Each kernel becomes ``void <symbol>(ptr slots, i64 begin, i64 end, ptr scratch)``: it runs blocks [begin, end) of the
grid, numbered with x fastest; ``slots`` as :class:`tilecore.artifact.records.Entry` says. The first four bytes of
``scratch`` stay as they are, or get the number (from 1) of the device assertion that failed.
"""

from __future__ import annotations

from tilecore.backends.cpu.llvm import streaming
from tilecore.backends.cpu.llvm.function import SCRATCH_END, Function, Memory, Module
from tilecore.backends.cpu.llvm.statements import Statements
from tilecore.backends.cpu.llvm.types import Value, bytes_of, computed, is_narrow, split, stored
from tilecore.backends.cpu.streams import Streams
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import IRModule, PrimFunc, Stmt, Var, is_buffer_var
from tilecore.ir.spans import location_of_span
from tilecore.ir.visit import collect


class Emitted:
    """LLVM text of a module, the scratch bytes of each kernel, and the texts of its assertions."""

    def __init__(self, text: str, scratch: dict[str, int], assertions: list[str]) -> None:
        self.text = text
        self.scratch = scratch
        self.assertions = assertions


def emit_module(
    mod: IRModule,
    streams: Streams = Streams(),  # noqa: B008 - frozen
    features: frozenset[str] = frozenset(),
    system: str = "linux",
) -> Emitted:
    """``streams``: which outputs are written past the caches. ``features``: of the processor, in LLVM's spelling.
    ``system``: whose C library the kernels call (systems.py)."""
    module = Module(streams, features, system)
    bodies, scratch = [], {}
    for var, func in mod.functions.items():
        symbol = str(var.name_hint)
        body, bytes_used = _kernel(module, symbol, func)
        bodies.append(body)
        scratch[symbol] = bytes_used
    text = "\n".join([*_constants(module), *module.declarations.values(), "", *bodies, *_metadata(module)])
    return Emitted(text + "\n", scratch, module.assertions)


def _kernel(module: Module, symbol: str, func: PrimFunc) -> tuple[str, int]:
    fn = Function(module)
    emit = Statements(fn)
    described = _describe_lines(fn, emit, symbol, func)
    _parameters(fn, emit, func)
    grid = [_wide(fn, emit.value(extent)) for extent in func.attrs[FunctionAttr.GRID]]
    head, body, latch, end = "blocks", "block", "next_block", "done"
    before = fn.block
    fn.jump(head)
    fn.label(head)
    fn.line(f"%number = phi i64 [ %begin, %{before} ], [ %following, %{latch} ]")
    fn.branch(fn.op("icmp slt i64 %number, %end"), body, end)
    fn.label(body)
    _block_indices(fn, emit, func, grid)
    fn.loops.append((latch, end))
    emit.emit(func.body)
    fn.jump(latch)
    fn.label(latch)
    fn.line("%following = add nsw i64 %number, 1")
    fn.jump(head)
    fn.label(end)
    if any(memory.streams for memory in emit.expressions.memory.values()):
        streaming.finish(fn)
    fn.line("ret void")
    signature = f"define void @{symbol}(ptr noalias %slots, i64 %begin, i64 %end, ptr noalias %scratch)"
    stack = [line.replace(SCRATCH_END, str(fn.scratch)) for line in fn.stack]
    lines = [f"{signature} nounwind{described} {{", "entry:", *stack, *fn.lines, "}", ""]
    return "\n".join(lines), fn.scratch


def _describe_lines(fn: Function, emit: Statements, symbol: str, func: PrimFunc) -> str:
    """Lets every instruction name the user's line, where that is asked for; what the function's definition has then."""
    if FunctionAttr.LINE_DIRECTIVES not in func.attrs:
        return ""
    places = map(location_of_span, (statement.span for statement in collect(func.body, Stmt)))
    first = next(filter(None, places), None)
    if first is None:
        return ""
    emit.subprogram = fn.module.debug_lines.subprogram(symbol, first.file, first.line)
    fn.place = fn.module.debug_lines.location(emit.subprogram, first.file, first.line)
    return f" !dbg !{emit.subprogram}"


def _parameters(fn: Function, emit: Statements, func: PrimFunc) -> None:
    """Load every slot: pointers of buffers, then scalars and symbols.

    A call in place passes one tensor for two parameters, so those that may have equally many bytes share a scope.
    """
    streams = streaming.streamed(func, fn.module.streams)
    scopes: dict[int | None, int] = {}
    sizes = {param: _bytes(param) for param in func.params if is_buffer_var(param)}
    unknown = None in sizes.values()
    for number, param in enumerate(func.params):
        place = "%slots" if number == 0 else fn.op(f"getelementptr i64, ptr %slots, i64 {number}", "slot")
        if is_buffer_var(param):
            dtype, lanes = split(str(param.dtype))
            pointer = fn.op(f"load ptr, ptr {place}", f"{param.name}_")
            size = None if unknown else sizes[param]
            if size not in scopes:
                scopes[size] = emit._scope()
            emit.expressions.memory[param] = Memory(pointer, dtype, lanes, scopes[size], param in streams)
        else:
            emit.expressions.env[param] = _scalar(fn, emit, place, dtype_of(param))


def _bytes(param: Var) -> int | None:
    """Size of a flat buffer, None when only the call knows it."""
    (elements,) = (constant(size) for size in param.shape)
    return None if elements is None else elements * bytes_of(split(str(param.dtype))[0])


def _scalar(fn: Function, emit: Statements, place: str, dtype: str) -> Value:
    if is_narrow(dtype) or dtype == "bool":
        return emit.expressions.loaded(fn.op(f"load {stored(dtype)}, ptr {place}"), dtype, 1)
    return Value(fn.op(f"load {computed(dtype)}, ptr {place}"), dtype)


def _wide(fn: Function, value: Value) -> str:
    if value.type == "i64" or not value.text.startswith("%"):
        return value.text
    return fn.op(f"sext {value.type} {value.text} to i64")


def _block_indices(fn: Function, emit: Statements, func: PrimFunc, grid: list[str]) -> None:
    x, y, z = func.attrs[FunctionAttr.BLOCK_VARS]
    rest = "%number"
    for var, extent in ((x, grid[0]), (y, grid[1])):
        index = "0" if extent == "1" else fn.op(f"urem i64 {rest}, {extent}")
        rest = rest if extent == "1" else fn.op(f"udiv i64 {rest}, {extent}")
        emit.expressions.env[var] = _index(fn, index, dtype_of(var))
    emit.expressions.env[z] = _index(fn, "0" if grid[2] == "1" else rest, dtype_of(z))


def _index(fn: Function, text: str, dtype: str) -> Value:
    if not text.startswith("%") or dtype == "int64":
        return Value(text, dtype)
    return Value(fn.op(f"trunc i64 {text} to i32"), dtype)


def _constants(module: Module) -> list[str]:
    texts = [_constant(name, text.encode() + b"\0") for text, name in module.strings.items()]
    return [*texts, *(f"{_constant(name, data)}, align 64" for data, name in module.constants.items())]


def _constant(name: str, data: bytes) -> str:
    escaped = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\' else f"\\{b:02X}" for b in data)
    return f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{escaped}"'


def _metadata(module: Module) -> list[str]:
    """One alias scope a buffer: !1000+n is the list of its own, !2000+n that of all others."""
    count = module.scopes
    lines = ["!1 = distinct !{!1}", "!2 = !{i32 1}"]
    lines += [f"!{3000 + n} = distinct !{{!{3000 + n}, !1}}" for n in range(count)]
    lines += [f"!{1000 + n} = !{{!{3000 + n}}}" for n in range(count)]
    for n in range(count):
        others = ", ".join(f"!{3000 + m}" for m in range(count) if m != n)
        lines.append(f"!{2000 + n} = !{{{others}}}")
    return [*lines, *module.debug_lines.lines()]

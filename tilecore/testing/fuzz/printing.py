"""Prints a program as the text of a Python module that defines the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.testing.fuzz.program import (
    Alloc,
    Assign,
    Buffer,
    If,
    Kernel,
    Leave,
    Let,
    Load,
    Loop,
    Name,
    Num,
    Op,
    Program,
    Slice,
    Tile,
    View,
    While,
    names_in,
    parts,
)

INFIX = frozenset("+ - * / // % << >> & | ^ < <= > >= == != and or".split())
KERNEL = "kernel"  # the function's name in the file
PADDING = 3  # elements after each row of a padded tensor


def source_of(program: Program, wide: bool = False) -> str:
    """The module that defines the kernel. wide: with float64 in place of every other float."""
    return "\n".join(_Printer(program, wide).module()) + "\n"


class _Printer:
    def __init__(self, program: Program, wide: bool) -> None:
        self.program = program
        self.wide = wide

    def module(self) -> Iterator[str]:
        program = self.program
        yield "import tilecore.language as T"
        if any(isinstance(node, Op) and node.op == "swizzled" for _, node in parts(program.kernels)):
            yield "from tilecore.layout import make_swizzled_layout"
        yield ""
        used = {name for part in (program.params, program.workspaces, program.kernels) for name in names_in(part)}
        for name, value in program.sizes:
            if name in used:
                yield f'{name} = T.dynamic("{name}")' if name in program.dynamic else f"{name} = {value}"
        yield ""
        yield ""
        yield "@T.prim_func"
        params = [f"{b.name}: {self.annotation(b)}" for b in program.params]
        line = f"def {KERNEL}({', '.join(params)}):"
        yield from [line] if len(line) <= 120 else [f"def {KERNEL}(", *(f"    {p}," for p in params), "):"]
        for buffer in program.workspaces:
            yield f"    {buffer.name} = T.alloc_global({self.shape(buffer)}, {self.dtype(buffer.dtype)})"
        for kernel in program.kernels:
            yield from self.kernel(kernel)

    def kernel(self, kernel: Kernel) -> Iterator[str]:
        grid = ", ".join(self.value(extent) for extent in kernel.grid)
        names = kernel.names[0] if len(kernel.names) == 1 else f"({', '.join(kernel.names)})"
        yield f"    with T.Kernel({grid}, threads={kernel.threads}) as {names}:"
        yield from self.block(kernel.body, 2)

    def block(self, body: Sequence[Any], depth: int) -> Iterator[str]:
        if not body:
            yield "    " * depth + "pass"
        for statement in body:
            yield from self.statement(statement, depth)

    def statement(self, node: Any, depth: int) -> Iterator[str]:
        indent = "    " * depth
        match node:
            case Alloc(buffer, start):
                yield f"{indent}{buffer.name} = {self.alloc(buffer, start)}"
            case Tile(op, operands, options):
                words = [self.value(o) for o in operands] + [f"{k}={self.option(v)}" for k, v in options]
                yield f"{indent}T.{op}({', '.join(words)})"
            case View(buffer, source):
                yield f"{indent}{buffer.name} = {self.view(buffer, source)}"
            case Let(name, value):
                yield f"{indent}{name} = {self.value(value)}"
            case Assign(target, value, sign):
                yield f"{indent}{self.value(target)} {sign} {self.value(value)}"
            case Loop(kind, names, _, body):
                yield f"{indent}for {', '.join(names)} in T.{kind}({self.extents(node)}):"
                yield from self.block(body, depth + 1)
            case While(name, most, body):
                yield f"{indent}while {name} < {self.inner(most)}:"
                yield from self.block(body, depth + 1) if body else ()
                yield f"{indent}    {name} += 1"
            case Leave(word, condition):
                yield f"{indent}if {self.value(condition)}:"
                yield f"{indent}    {word}"
            case If(condition, then, orelse):
                yield f"{indent}if {self.value(condition)}:"
                yield from self.block(then, depth + 1)
                if orelse:
                    yield f"{indent}else:"
                    yield from self.block(orelse, depth + 1)
            case _:
                raise TypeError(f"no statement: {node!r}")

    def alloc(self, buffer: Buffer, start: Any) -> str:
        dtype = self.dtype(buffer.dtype)
        if buffer.scope == "var":
            return f"T.alloc_var({dtype}, init={self.value(start)})"
        return f"T.alloc_{buffer.scope}({self.shape(buffer)}, {dtype})"

    def view(self, buffer: Buffer, source: Name) -> str:
        buffers = {node.buffer.name: node.buffer for _, node in parts(self.program.kernels) if isinstance(node, Alloc)}
        buffers |= {param.name: param for param in self.program.params}
        if source.name in buffers and buffers[source.name].dtype == buffer.dtype:
            return f"T.reshape({source.name}, {self.shape(buffer)})"
        return f"T.view({source.name}, {self.shape(buffer)}, {self.dtype(buffer.dtype)})"

    def annotation(self, buffer: Buffer) -> str:
        if buffer.scope == "scalar":
            return f"T.{self.dtype(buffer.dtype)[1:-1]}"
        if not buffer.form:
            return f"T.Tensor({self.shape(buffer)}, {self.dtype(buffer.dtype)})"
        strides = ["1"]
        for size in buffer.shape[:0:-1] if buffer.form == "padded" else buffer.shape[:-1]:
            longer = f"({size} + {PADDING})" if buffer.form == "padded" and len(strides) == 1 else size
            strides.append(longer if strides[-1] == "1" else f"{strides[-1]} * {longer}")
        if buffer.form == "padded":
            strides.reverse()
        strides_text = f"({', '.join(strides)}{',' if len(strides) == 1 else ''})"
        return f"T.StridedTensor({self.shape(buffer)}, {strides_text}, {self.dtype(buffer.dtype)})"

    def extents(self, loop: Loop) -> str:
        arguments = ", ".join(self.value(extent) for extent in loop.extents)
        if loop.kind != "Pipelined":
            return arguments
        arguments += f", num_stages={loop.stages}"
        if loop.schedule and len(loop.schedule[0]) == len(loop.body):
            order, stage = map(list, loop.schedule)
            arguments += f", order={order}, stage={stage}"
        return arguments

    def option(self, value: Any) -> str:
        return self.value(value) if isinstance(value, (Num, Name, Op, Load)) else repr(value)

    def shape(self, buffer: Buffer) -> str:
        sizes = [size.replace("*", " * ") for size in buffer.shape]
        return f"({', '.join(sizes)}{',' if len(sizes) == 1 else ''})"

    def dtype(self, name: str) -> str:
        return f'"{"float64" if self.wide and FACTS[name].kind == "float" else name}"'

    def value(self, node: Any) -> str:
        match node:
            case Num(value):
                return str(value)
            case Name(name):
                return f"({name.replace('*', ' * ')})" if "*" in name else name
            case Load(buffer, index):
                return f"{buffer}[{', '.join(map(self.value, index))}]"
            case Slice(buffer, parts):
                return f"{buffer}[{', '.join(self.slice(*part) for part in parts)}]"
            case Op("cast", (arg,), dtype):
                return f"T.cast({self.value(arg)}, {self.dtype(dtype)})"
            case Op("infinity" | "max_value" | "min_value" as op, (), dtype):
                return f"T.{op}({self.dtype(dtype)})"
            case Op("reinterpret", (arg,), dtype):
                return f"T.reinterpret({self.value(arg)}, {self.dtype(dtype)})"
            case Op("swizzled", (arg,)):
                return f"{{{self.value(arg)}: make_swizzled_layout({self.value(arg)})}}"
            case Op("neg", (arg,)):
                return f"-{self.inner(arg)}"
            case Op("~", (arg,)):
                return f"~{self.inner(arg)}"
            case Op("not", (arg,)):
                return f"not {self.inner(arg)}"
            case Op(op, (left, right)) if op in INFIX:
                return f"{self.inner(left)} {op} {self.inner(right)}"
            case Op(op, args):
                return f"T.{op}({', '.join(map(self.value, args))})"
        raise TypeError(f"no expression: {node!r}")

    def inner(self, node: Any) -> str:
        """An expression as an operand, in parentheses where they are needed."""
        loose = isinstance(node, Op) and (node.op in INFIX or node.op in ("neg", "~", "not"))
        loose |= isinstance(node, Num) and node.value < 0
        return f"({self.value(node)})" if loose else self.value(node)

    def slice(self, start: Any, size: Any) -> str:
        if size == Num(1):
            return self.value(start)
        if start == Num(0):
            return f"0:{self.value(size)}"
        return f"{self.inner(start)} : {self.inner(start)} + {self.inner(size)}"


def lines_of(source: str) -> int:
    """The number of code lines of the kernel in a file, without blank lines."""
    body = source.partition("@T.prim_func")[2].partition("\nif __name__")[0]
    return sum(1 for line in body.splitlines() if line.strip())

"""One LLVM function under construction: its lines, names, stack slots and loops."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from tilecore.backends.cpu.llvm.debug_lines import DebugLines
from tilecore.backends.cpu.llvm.types import Value, bytes_of, computed, literal, stored, vector
from tilecore.backends.cpu.streams import Streams

NO_SCOPE = -1
SCRATCH_END = "<end of scratch>"  # stands for the number of bytes that the function's own buffers take


@dataclass
class Memory:
    """Where a buffer lies. dtype, lanes: of an element; scope: number of its alias scope, NO_SCOPE for memory that may
    be any other buffer's too; streams: it is written past the caches."""

    pointer: str
    dtype: str
    lanes: int
    scope: int
    streams: bool = False


@dataclass
class Module:
    """What the functions of one module share: declarations, constants, alias scopes.

    streams: which outputs are written past the caches. features: the processor's extensions.
    system: whose C library is called.
    """

    streams: Streams = field(default_factory=Streams)
    features: frozenset[str] = frozenset()
    system: str = "linux"
    declarations: dict[str, str] = field(default_factory=dict)
    strings: dict[str, str] = field(default_factory=dict)
    constants: dict[bytes, str] = field(default_factory=dict)
    assertions: list[str] = field(default_factory=list)
    scopes: int = 0
    debug_lines: DebugLines = field(default_factory=DebugLines)

    def declare(self, name: str, signature: str) -> None:
        """``signature`` with ``{}`` for the name: ``"float {}(float)"``."""
        self.declarations.setdefault(name, f"declare {signature.format('@' + name)}")

    def string(self, text: str) -> str:
        """Name of a zero-terminated constant."""
        return self.strings.setdefault(text, f"@.text.{len(self.strings)}")

    def constant(self, data: bytes) -> str:
        """Name of a constant of these bytes, 64-byte aligned."""
        return self.constants.setdefault(data, f"@.constant.{len(self.constants)}")


class Function:
    """Lines of a function body in SSA form. Blocks are opened with :meth:`label`."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lines: list[str] = []
        self.stack: list[str] = []
        self.counter = 0
        self.block = "entry"
        self.loops: list[tuple[str, str]] = []
        self.scratch = 64  # bytes; the first line holds the kernel's status
        self.ended = False
        self.place: int | None = None  # the debug metadata of the user's line that is being emitted

    # -- lines ------------------------------------------------------------------------------------------------

    def fresh(self, stem: str = "v") -> str:
        self.counter += 1
        stem = stem if stem.isascii() else plain_name(stem)
        return f"%{stem}{'_' if stem[-1:].isdigit() else ''}{self.counter}"  # i1 and 11 are not i and 111

    def line(self, text: str) -> None:
        if not self.ended:
            self.lines.append("  " + text + ("" if self.place is None else f", !dbg !{self.place}"))

    def op(self, text: str, stem: str = "v") -> str:
        """An instruction with a result; its name."""
        name = self.fresh(stem)
        self.line(f"{name} = {text}")
        return name

    def new_label(self, stem: str) -> str:
        self.counter += 1
        return f"{stem}{self.counter}"

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name
        self.ended = False

    def jump(self, label: str) -> None:
        self.line(f"br label %{label}")
        self.ended = True

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")
        self.ended = True

    # -- vectors ----------------------------------------------------------------------------------------------

    def broadcast(self, value: Value, lanes: int) -> Value:
        if value.lanes == lanes or lanes == 1:
            return value
        element = computed(value.dtype)
        text = value.text
        if not text.startswith("%"):
            return Value(f"splat ({element} {text})", value.dtype, lanes)
        kind = vector(element, lanes)
        first = self.op(f"insertelement {kind} poison, {element} {text}, i64 0")
        spread = self.op(f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer")
        return Value(spread, value.dtype, lanes)

    def ramp(self, base: Value, stride: Value, lanes: int) -> Value:
        element = computed(base.dtype)
        numbers = ", ".join(f"{element} {i}" for i in range(lanes))
        kind = vector(element, lanes)
        steps = self.broadcast(stride, lanes)
        scaled = f"<{numbers}>"
        if stride.text != "1":
            scaled = self.op(f"mul {kind} <{numbers}>, {steps.text}")
        start = self.broadcast(base, lanes)
        return Value(self.op(f"add {kind} {start.text}, {scaled}"), base.dtype, lanes)

    # -- memory -----------------------------------------------------------------------------------------------

    def allocate(self, dtype: str, lanes: int, count: int, name: str) -> str:
        """Stack memory for the length of the call, 64-byte aligned."""
        pointer = self.fresh(plain_name(name) + "_")
        kind = vector(stored(dtype), lanes)
        self.stack.append(f"  {pointer} = alloca [{count} x {kind}], align 64")
        return pointer

    def address(self, memory: Memory, index: Value, inbounds: bool = True) -> str:
        kind = vector(stored(memory.dtype), memory.lanes)
        if index.text == "0":
            return memory.pointer
        flag = "inbounds " if inbounds else ""
        return self.op(f"getelementptr {flag}{kind}, ptr {memory.pointer}, {index.type} {index.text}", "p")

    def tag(self, memory: Memory) -> str:
        """Alias metadata of an access to ``memory``: it touches no other buffer."""
        if memory.scope == NO_SCOPE:
            return ""
        return f", !alias.scope !{1000 + memory.scope}, !noalias !{2000 + memory.scope}"

    def align(self, memory: Memory) -> int:
        size = bytes_of(memory.dtype) * memory.lanes
        return bytes_of(memory.dtype) if memory.lanes == 1 else min(64, size & -size)  # a power of two

    def zero(self, dtype: str, lanes: int) -> Value:
        return literal(0, dtype, lanes)


def plain_name(name: object) -> str:
    """The name with what LLVM's names cannot have, such as letters outside of ASCII, replaced by underscores."""
    return re.sub(r"\W", "_", str(name), flags=re.ASCII)

"""What the kinds of values of a kernel are called in errors, in place of the names of their classes."""

from __future__ import annotations

import re
from typing import Any

from tilecore.ir.nodes import Expr, TensorRegion
from tilecore.language.buffers import BufferHandle
from tilecore.language.values import KernelValue


def description_of(value: Any) -> str:
    """What a value is called: by its name if it is a buffer, else by its kind."""
    if isinstance(value, BufferHandle):
        return f"the buffer {value.name}"
    for kind, description in _kinds():
        if isinstance(value, kind):
            return description
    return type(value).__name__


def _kinds() -> list[tuple[type, str]]:
    from tilecore.language.kernel import Kernel
    from tilecore.tracing.loops import LoopSpec

    return [
        *((BufferHandle, "a buffer of the kernel"), (TensorRegion, "a slice of a buffer")),
        *((KernelValue, "a variable of the kernel"), (Expr, "a value of the kernel")),
        *((LoopSpec, "a loop of the kernel"), (Kernel, "a T.Kernel")),
    ]


def descriptions() -> dict[str, str]:
    """Descriptions of the classes of values of the kernel, by class name."""
    by_class: dict[str, str] = {}
    for kind, description in _kinds():
        pending = [kind]
        while pending:
            cls = pending.pop()
            by_class.setdefault(cls.__name__, description)
            pending.extend(cls.__subclasses__())
    return by_class


def plain(text: str) -> str:
    """A message of Python with descriptions in place of class names of values of the kernel."""
    by_class = descriptions()
    return re.sub(
        r"'([\w.]+)'( object)?|\b(not|type) (\w+)",
        lambda m: by_class.get(m[1], m[0]) if m[1] else (f"{m[3]} {by_class[m[4]]}" if m[4] in by_class else m[0]),
        first_line(text),
    )


def first_line(text: str) -> str:
    """The first line of TVM's message, without the C++ of a failed check."""
    line = next((line for line in text.strip().splitlines() if line.strip()), "")
    return re.sub(r"^Check failed: .*? (?:is false)?: (?=\S)", "", line)

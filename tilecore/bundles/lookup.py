"""Finds kernels of a bundle by their name and the arguments of their call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilecore.bundles.format import KernelRecord


def argument_text(value: Any) -> str:
    """The text of an argument, the same wherever it is computed: tensors and their types as ``float32[64, 32]``,
    element types by name, other values as Python writes them."""
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and kind is not None:
        strides = getattr(value, "strides", None) if type(value).__name__ == "TensorType" else None
        text = f"{_last(kind)}[{', '.join(str(size) for size in shape)}]"
        return text if strides is None else f"{text} strides {list(strides)}"
    if any(kind.__name__ == "dtype" for kind in type(value).__mro__):  # of tilecore, torch or numpy
        return repr(_last(value))
    if isinstance(value, (tuple, list)):
        texts = ", ".join(map(argument_text, value))
        return f"[{texts}]" if isinstance(value, list) else f"({texts}{',' if len(value) == 1 else ''})"
    return " ".join(repr(value).split())


def _last(kind: Any) -> str:
    """The name of an element type of tilecore, torch or numpy."""
    return str(kind).rpartition(".")[2]


def matches(record: KernelRecord, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """Whether the kernel was made for these arguments; those that are left out have their defaults."""
    if len(args) > len(record.arguments):
        return False
    wanted = {argument.name: argument_text(value) for argument, value in zip(record.arguments, args, strict=False)}
    if wanted.keys() & kwargs.keys():
        return False
    wanted.update((name, argument_text(value)) for name, value in kwargs.items())
    if wanted.keys() - {argument.name for argument in record.arguments}:
        return False
    return all(
        argument.text == wanted[argument.name] if argument.name in wanted else argument.default
        for argument in record.arguments
    )

"""Names kernels so that profilers and debuggers tell them apart: function, shapes, element types, digest.

``matmul_kernel_1024x512_512x256_1024x256_f16_3f2a91c0`` is the T.Kernel of ``matmul``, with the shapes of its tensors
in the order of its parameters, their element types, and a digest of the tile IR and of the settings. The name depends
on these alone, so it is the same in every process.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.build import constant, dtype_of
from tilecore.ir.nodes import IRModule, PrimFunc, Var, is_buffer_var

LONGEST = 62  # characters: some runtimes keep names in 64 bytes, and one of them finds some of 63 characters no more
_DIGITS = 8
_SHORT = {"float": "f", "bfloat": "bf", "tfloat": "tf", "uint": "u", "int": "i"}


def with_distinct_names(module: IRModule, func: PrimFunc, settings: Mapping[str, Any]) -> IRModule:
    """The kernels of ``module`` under names of their own. func: the tile IR that they were lowered from. settings: what
    the compilation depends on besides, by names; values that JSON has not count by their texts."""
    text = json.dumps([str(func.script(show_meta=True)), settings], sort_keys=True, default=str)
    tensors = [param for param in func.params if is_buffer_var(param)]
    shapes = [_shape(tensor) for tensor in tensors if len(tensor.shape)]
    types = list(dict.fromkeys(_short(str(dtype_of(tensor))) for tensor in tensors))
    functions = {}
    for var, kernel in module.functions.items():
        name = distinct_name(str(var.name_hint), shapes, types, text)
        functions[name] = kernel.with_attr("global_symbol", name)
    return IRModule(functions)


def with_line_directives(module: IRModule) -> IRModule:
    """The module, whose emitted source says of every statement which line of the user's it is from."""
    attribute = FunctionAttr.LINE_DIRECTIVES
    return IRModule({str(var.name_hint): kernel.with_attr(attribute, 1) for var, kernel in module.functions.items()})


def distinct_name(symbol: str, shapes: Iterable[str], types: Iterable[str], content: str) -> str:
    """``symbol``, the types and as many of the shapes as there is room for, and a digest of ``content``; LONGEST
    characters at most. Different symbols have different names, however long they are: the digest is of both."""
    digest = hashlib.sha256(f"{symbol}\n{content}".encode()).hexdigest()[:_DIGITS]
    start = re.sub(r"\W", "_", symbol, flags=re.ASCII)[: LONGEST - 1 - len(digest)]  # Python's names may have letters
    last = _joined(LONGEST - len(start) - 1 - len(digest), types)
    return f"{start}{_joined(LONGEST - len(start) - len(last) - 1 - len(digest), shapes)}{last}_{digest}"


def plain_name(symbol: str, is_alone: bool = False) -> str:
    """The name of a kernel without what tells it from others of its function: for records over time.

    is_alone: whether its function has no other kernel; else a number behind ``_kernel`` is the kernel's own.
    """
    number = "" if is_alone else r"(_\d+)?"
    return re.sub(rf"(_kernel{number})(_\w+)?_[0-9a-f]{{{_DIGITS}}}$", r"\1", symbol)


def _joined(room: int, words: Iterable[str]) -> str:
    """``_a_b``: the first of the words that fit into ``room`` characters together."""
    text = ""
    for word in words:
        if len(text) + 1 + len(word) > room:
            break
        text += f"_{word}"
    return text


def _shape(tensor: Var) -> str:
    """``64x256``; a size of the call by its name, one that is computed from others as ``n``."""
    sizes = []
    for size in tensor.shape:
        number = constant(size)
        name = str(size.name) if isinstance(size, Var) else "n"
        sizes.append(str(number) if number is not None else re.sub(r"\W", "_", name, flags=re.ASCII))
    return "x".join(sizes)


def _short(dtype: str) -> str:
    """``f16`` for float16, ``bf16``, ``i32``, ``u8``; others by their own names, such as ``float8_e4m3fn``."""
    match = re.fullmatch(r"([a-z]+)(\d+)", dtype)
    return f"{_SHORT[match[1]]}{match[2]}" if match and match[1] in _SHORT else dtype

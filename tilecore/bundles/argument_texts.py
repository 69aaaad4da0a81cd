"""The texts of the arguments of a call: in labels, and to find the kernel of a bundle that was made for them.

Texts are the same wherever they are computed, and equal for arguments that ``tilecore.jit`` makes one kernel of: a
number of numpy is the number, an element type is its name, whichever library's it is. A set has no order.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from tilecore.compilation_cache.key import plain_number
from tilecore.compilation_cache.source.arrays import array_contents
from tilecore.dtypes import DLPACK_PAIRS, FACTS
from tilecore.frozen_dataclasses import frozen
from tilecore.tensors.dlpack import contiguous_strides
from tilecore.tensors.views import is_tensor

_NOT_COMPARED = "of contents that are not compared"  # of an array on a device, for instance
ANY_VALUE = "any value"  # in place of the text of an argument that does not tell kernels apart
ANY_SIZE = "*"  # in place of a size or a stride, of a tensor whose kernel takes all


def argument_text(value: Any) -> str:
    """The text in labels: tensors and their types as ``float32[64, 32]``, element types by name, other values as Python
    writes them."""
    return _text(value, lambda one: _type_text(one) if _is_tensor_type(one) or is_tensor(one) else None)


def text_with_contents(value: Any) -> str:
    """The text of an argument of a function that reads its arguments while it makes the kernel: arrays by what is in
    them."""
    return _text(value, _contents_text)


def has_text(value: Any, text: str) -> bool:
    """Whether ``text`` is that of the argument: of a tensor the text of its type, or that with its contents. ANY_VALUE
    is that of all arguments, and a tensor may have any size in the place of an ANY_SIZE."""
    if text == ANY_VALUE or text in (_text(value, _type_text), _text_of_contiguous(value)):
        return True
    if ANY_SIZE in text and _fits_open_type(value, text):
        return True
    with_contents = text_with_contents(value)
    return text == with_contents and _NOT_COMPARED not in with_contents


def on_one_line(text: str) -> str:
    """The text with a space in place of each line break and the white space around it."""
    return " ".join(map(str.strip, text.splitlines())) if len(text.splitlines()) > 1 else text


def _text(value: Any, tensor_text: Callable[[Any], str | None]) -> str:
    """The text of a value. tensor_text: that of a tensor, in containers, too; None of what it takes for none."""
    name = _element_type(value)
    if name is not None:
        return repr(name)
    number = plain_number(value)
    if number is not value:
        return repr(number)
    tensor = tensor_text(value)
    return _container_text(value, tensor_text) if tensor is None else tensor


def _container_text(value: Any, tensor_text: Callable[[Any], str | None]) -> str:
    kind = type(value)
    if kind is dict:
        return f"{{{', '.join(f'{_text(key, tensor_text)}: {_text(one, tensor_text)}' for key, one in value.items())}}}"
    if not isinstance(value, (tuple, list, set, frozenset)):
        return repr(value)
    texts = [_text(one, tensor_text) for one in value]
    if kind is list:
        return f"[{', '.join(texts)}]"
    if kind is tuple or (kind.__module__, kind.__name__) == ("torch", "Size"):
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
    if kind in (set, frozenset) and texts:
        elements = f"{{{', '.join(sorted(texts))}}}"
        return elements if kind is set else f"frozenset({elements})"
    names = getattr(kind, "_fields", None)  # of a named tuple
    if isinstance(names, tuple) and len(names) == len(texts):
        return f"{kind.__name__}({', '.join(f'{name}={text}' for name, text in zip(names, texts, strict=True))})"
    return repr(value)


def _element_type(value: Any) -> str | None:
    """The name of an element type of tilecore, torch or numpy (numpy has classes of numbers for them, too); None of
    another value."""
    if isinstance(value, type):
        numpy = sys.modules.get("numpy")
        is_of_numbers = numpy is not None and issubclass(value, numpy.generic)
        name = value.__name__.removesuffix("_")  # numpy.bool_
        return name if is_of_numbers and name in FACTS else None
    return _type_name(value) if any(kind.__name__ == "dtype" for kind in type(value).__mro__) else None


def _type_name(kind: Any) -> str:
    """The name of an element type of any library: ``torch.float16`` is ``float16``."""
    text = str(kind)
    return text.rpartition(".")[2] if re.fullmatch(r"[\w.]+", text) else text


def _is_tensor_type(value: Any) -> bool:
    return type(value).__name__ == "TensorType"  # of the language, which programs with bundles need not import


def _type_text(value: Any) -> str | None:
    """The text of the type of a tensor, or of what describes one by its shape and element type; None of another value.
    Strides are told where they are not those of a contiguous tensor."""
    layout = _layout(value)
    if layout is None or layout.strides is None:
        return None if layout is None else layout.text
    if not _is_tensor_type(value) and layout.strides == contiguous_strides(layout.shape):
        return layout.text
    return f"{layout.text} strides {list(layout.strides)}"


def _text_of_contiguous(value: Any) -> str | None:
    """The text of the type without strides, of a tensor whose strides differ from a contiguous one's on axes of size 1
    only; None of another value."""
    layout = None if _is_tensor_type(value) else _layout(value)
    if layout is None or layout.strides is None:
        return None
    axes = zip(layout.shape, layout.strides, contiguous_strides(layout.shape), strict=True)
    is_contiguous = 0 in layout.shape or all(size == 1 or stride == step for size, stride, step in axes)
    return layout.text if is_contiguous else None


def _fits_open_type(value: Any, text: str) -> bool:
    """Whether the type of a tensor is that of the text, whose ANY_SIZE stands for any size and any stride."""
    layout = _layout(value)
    if layout is None:
        return False
    pattern = re.escape(text).replace(re.escape(ANY_SIZE), r"[^],]+")
    texts = (_type_text(value), _text_of_contiguous(value), f"{layout.text} strides {list(layout.strides or ())}")
    return any(one is not None and re.fullmatch(pattern, one) is not None for one in texts)


@frozen
class _Layout:
    """How a tensor lies in memory. element: its type's name. strides: in elements, None where they are not known."""

    shape: tuple[Any, ...]
    element: str
    strides: tuple[Any, ...] | None

    @property
    def text(self) -> str:
        return f"{self.element}[{', '.join(map(str, self.shape))}]"


def _layout(value: Any) -> _Layout | None:
    """The layout of what has a shape and an element type; None of others, such as a class with these attributes. Torch
    counts pairs of 4-bit elements; they are counted one by one here, as the language does."""
    shape, kind = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(value, type) or kind is None or not isinstance(shape, (tuple, list)):
        return None
    name = _type_name(kind)
    element = name.removesuffix("_x2")
    strides = value.strides if _is_tensor_type(value) else _strides(value)
    if element == name or element not in DLPACK_PAIRS or not shape or strides is None:
        return _Layout(tuple(shape), name, strides)
    steps = (*(2 * step for step in strides[:-1]), strides[-1])
    return _Layout((*shape[:-1], 2 * shape[-1]), element, steps)


def _strides(value: Any) -> tuple[int, ...] | None:
    """The strides of a tensor in elements; None where they are not known."""
    strides = getattr(value, "stride", None)
    if callable(strides):  # torch's
        try:
            return tuple(strides())
        except RuntimeError:  # of a sparse tensor
            return None
    steps, size = getattr(value, "strides", None), getattr(value, "itemsize", 0)
    return tuple(step // size for step in steps) if isinstance(steps, tuple) and size else None  # numpy's: bytes


def _contents_text(value: Any) -> str | None:
    """The text of an array with its contents; None of other values, and a type of the language as its text."""
    if _is_tensor_type(value):
        return _type_text(value)
    if not is_tensor(value):
        return None
    contents = array_contents(value)
    if contents is None:
        return f"{_type_text(value) or type(value).__name__} {_NOT_COMPARED}"
    kind, shape, data = contents
    return f"{_type_text(value)} of contents {sha256(repr((kind, shape)).encode() + data).hexdigest()}"

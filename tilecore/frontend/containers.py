"""Lookups in Python containers, and stores to them, while a kernel is built."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from tilecore.errors import LanguageError, WrongTypeError
from tilecore.frontend.python_content import CONTAINERS
from tilecore.frontend.python_state import check_advance, check_change
from tilecore.ir.nodes import TensorRegion
from tilecore.language.buffers import BufferHandle, LocalVar, VariableRead
from tilecore.language.slices import slice_text
from tilecore.language.symbols import ConstDim
from tilecore.language.values import is_kernel_value
from tilecore.tracing.current import current


def read(value: Any) -> Any:
    """The value of a name, attribute or item: for a T.alloc_var its current value, for a known T.const its number."""
    if isinstance(value, LocalVar):
        return value.read()
    return value.value if isinstance(value, ConstDim) and value.is_known else value


def item(container: Any, index: Any) -> Any:
    """``container[index]``"""
    if isinstance(container, (BufferHandle, LocalVar, VariableRead, TensorRegion)):
        return container[index]
    is_array = hasattr(container, "dtype") and hasattr(container, "shape")  # numpy's and torch's
    if (is_array or isinstance(container, (list, tuple, str, range, Mapping))) and _has_kernel_value(index):
        kind = f"Python {type(container).__name__}"
        if is_array:
            module = type(container).__module__.partition(".")[0]
            kind = "torch tensor" if module == "torch" else f"{module} array"
        access = "looked up with" if isinstance(container, Mapping) else "indexed with"
        raise LanguageError(
            f"a {kind} is {access} a value of the kernel",
            found=f"[{index}], which is known only when the kernel runs",
            expected="an index or a key that is known when compiling",
            hint="put the values in memory of the kernel (a tensor parameter, a T.alloc_local) and index that; "
            "or choose with T.if_then_else; or loop over the Python list itself, which is unrolled",
        ).at(current().location)
    return read(container[index])


def _has_kernel_value(index: Any) -> bool:
    if isinstance(index, tuple):
        return any(map(_has_kernel_value, index))
    return is_kernel_value(index) and not isinstance(index, BufferHandle)


def method(container: Any, name: str) -> Any:
    """A method of an object whose name is that of a method that changes a container."""
    check_change_of_container(container)
    return getattr(container, name)


def next_(function: Any) -> Callable[..., Any]:
    """``next``; Python's own refuses iterators that a block of the kernel must not advance."""
    if function is not next:
        return function  # type: ignore[no-any-return]

    def advance(iterator: Any, *default: Any) -> Any:
        check_advance(iterator, current())
        return next(iterator, *default)

    return advance


def print_(function: Any) -> Callable[..., Any]:
    """``print``; Python's own shows expressions of the kernel, and warns that they are no numbers."""
    if function is not print:
        return function  # type: ignore[no-any-return]

    def printed(*values: Any, **options: Any) -> None:
        if any(is_kernel_value(value) for value in values):
            warnings.warn(
                "Python's print runs once, while the kernel is built, and shows the expression of a value of the "
                "kernel; T.print(x) prints the value when the kernel runs",
                stacklevel=2,
            )
        print(*values, **options)

    return printed


def store(target: Any, index: Any, value: Any) -> None:
    """``target[index] = value``; where a Python container holds a T.alloc_var, into the variable."""
    if isinstance(target, (BufferHandle, LocalVar, VariableRead)):
        target.write(index, value)
        return
    if isinstance(target, (list, Mapping)) and _has_kernel_value(index):
        item(target, index)
    variable = _variable_at(lambda: target[index])
    if variable is not None and not isinstance(value, (LocalVar, BufferHandle)):
        variable.store(value)
        return
    check_change(target, current())
    target[index] = value


def store_attribute(target: Any, name: str, value: Any) -> None:
    """``target.name = value``; where the attribute is a T.alloc_var, into the variable."""
    variable = _variable_at(lambda: vars(target)[name])
    if variable is not None and not isinstance(value, (LocalVar, BufferHandle)):
        variable.store(value)
        return
    check_change(target, current())
    setattr(target, name, value)


def _variable_at(look: Callable[[], Any]) -> LocalVar | None:
    try:
        variable = look()
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    return variable if isinstance(variable, LocalVar) else None


def item_to_update(target: Any, index: Any) -> Any:
    """The old value in ``target[index] += value``."""
    if isinstance(index, slice) and isinstance(target, (BufferHandle, TensorRegion)):
        name = target.name if isinstance(target, BufferHandle) else slice_text(target)
        raise LanguageError(f"{name}[slice] cannot be updated in place", hint="loop over it with T.Parallel")
    return item(target, index)


def attribute_to_update(target: Any, name: str) -> Any:
    """The old value in ``target.name += value``."""
    return read(getattr(target, name))


def delete_item(target: Any, index: Any) -> None:
    if is_kernel_value(target):
        raise WrongTypeError("an element of a buffer cannot be deleted", expected="an assignment of another value")
    check_change(target, current())
    del target[index]


def delete_attribute(target: Any, name: str) -> None:
    check_change(target, current())
    delattr(target, name)


def check_change_of_container(value: Any) -> None:
    """As ``check_change``, but for containers only: methods of other objects are called unchecked."""
    if isinstance(value, CONTAINERS):
        check_change(value, current())


def assign_item(value: Any, old: Callable[[], Any] | None) -> Any:
    """The assignment of a loop's item to a name: where the name is a T.alloc_var, the item is stored in it. Returns the
    new value of the name."""
    if old is None or isinstance(value, (LocalVar, BufferHandle)):
        return value
    try:
        before = old()
    except NameError:
        return value
    if isinstance(before, LocalVar) and (is_kernel_value(value) or isinstance(value, (int, float))):
        before.store(value)
        return before
    return value

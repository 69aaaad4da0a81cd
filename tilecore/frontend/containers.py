"""Lookups in Python containers, and stores to them, while a kernel is built."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from tilecore.errors import LanguageError
from tilecore.frontend.python_content import CONTAINERS
from tilecore.frontend.python_state import check_advance, check_change
from tilecore.language.buffers import BufferHandle, LocalVar, VariableRead
from tilecore.language.conditions import logical_and, logical_not, logical_or
from tilecore.language.symbols import ConstDim
from tilecore.language.values import as_expr, is_kernel_value
from tilecore.tracing.builder import current

_MEMBERS: tuple[type[Collection[Any]], ...] = (list, tuple, set, frozenset, dict, type({}.keys()), type({}.values()))
_MOST_COMPARED = 256


def read(value: Any) -> Any:
    """The value of a name, attribute or item: for a T.alloc_var its current value, for a known T.const its number."""
    if isinstance(value, LocalVar):
        return value.read()
    return value.value if isinstance(value, ConstDim) and value.known else value


def item(container: Any, index: Any) -> Any:
    """``container[index]``"""
    if isinstance(container, (BufferHandle, LocalVar, VariableRead)):
        return container[index]
    is_array = hasattr(container, "dtype") and hasattr(container, "shape")  # numpy's and torch's
    if (is_array or isinstance(container, (list, tuple, str, range, Mapping))) and _has_kernel_value(index):
        kind = f"Python {type(container).__name__}"
        if is_array:
            module = type(container).__module__.partition(".")[0]
            kind = "torch tensor" if module == "torch" else f"{module} array"
        how = "looked up with" if isinstance(container, Mapping) else "indexed with"
        raise LanguageError(
            f"a {kind} is {how} a value of the kernel",
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


def contains(value: Any, container: Any) -> Any:
    """``value in container``; for values of the kernel, whether the value equals one of the members."""
    if isinstance(container, range) and is_kernel_value(value):
        return _in_range(value, container)
    if not isinstance(container, _MEMBERS):
        return value in container
    members = list(container)
    if not any(is_kernel_value(part) and not isinstance(part, BufferHandle) for part in (value, *members)):
        return value in container
    if len(members) > _MOST_COMPARED:
        raise LanguageError(
            f"`in` compares a value of the kernel with {len(members)} values",
            expected=f"at most {_MOST_COMPARED}",
            hint="put the values into a tensor and search it in a loop",
        ).at(current().location)
    result: Any = False
    for member in members:
        same = True if member is value else as_expr(value) == as_expr(member)
        same = as_expr(same) if is_kernel_value(same) else bool(same)
        if same is True:
            return True
        if same is not False:
            result = same if result is False else logical_or(result, same)
    return result


def _in_range(value: Any, members: range) -> Any:
    if not members:
        return False
    low, high = min(members[0], members[-1]), max(members[0], members[-1])
    in_bounds = logical_and(as_expr(value) >= low, as_expr(value) <= high)
    if abs(members.step) == 1:
        return in_bounds
    return logical_and(in_bounds, (as_expr(value) - low) % abs(members.step) == 0)


def lacks(value: Any, container: Any) -> Any:
    """``value not in container``"""
    is_member = contains(value, container)
    return logical_not(is_member) if is_kernel_value(is_member) else not is_member


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
    """``print``; Python's own refuses values of the kernel."""
    if function is not print:
        return function  # type: ignore[no-any-return]

    def printed(*values: Any, **options: Any) -> None:
        if any(is_kernel_value(value) for value in values):
            raise LanguageError(
                "Python's print is called with a value of the kernel, which is not known while the kernel is built",
                hint="T.print(x) prints it when the kernel runs; print(repr(x)) shows the expression",
            ).at(current().location)
        print(*values, **options)

    return printed


def store(target: Any, index: Any, value: Any) -> None:
    """``target[index] = value``; where a Python container holds a T.alloc_var, into the variable."""
    if isinstance(target, (BufferHandle, LocalVar, VariableRead)):
        target.write(index, value)
        return
    if isinstance(target, (list, Mapping)) and _has_kernel_value(index):
        item(target, index)
    held = _held_variable(lambda: target[index])
    if held is not None and not isinstance(value, (LocalVar, BufferHandle)):
        held.store(value)
        return
    check_change(target, current())
    target[index] = value


def store_attribute(target: Any, name: str, value: Any) -> None:
    """``target.name = value``; where the attribute is a T.alloc_var, into the variable."""
    held = _held_variable(lambda: vars(target)[name])
    if held is not None and not isinstance(value, (LocalVar, BufferHandle)):
        held.store(value)
        return
    check_change(target, current())
    setattr(target, name, value)


def _held_variable(look: Callable[[], Any]) -> LocalVar | None:
    try:
        held = look()
    except (KeyError, IndexError, TypeError, AttributeError):
        return None
    return held if isinstance(held, LocalVar) else None


def item_to_update(target: Any, index: Any) -> Any:
    """What ``target[index] += value`` starts from."""
    if isinstance(index, slice) and isinstance(target, BufferHandle):
        raise LanguageError(f"{target.name}[slice] cannot be updated in place", hint="loop over it with T.Parallel")
    return item(target, index)


def attribute_to_update(target: Any, name: str) -> Any:
    return read(getattr(target, name))


def delete_item(target: Any, index: Any) -> None:
    check_change(target, current())
    del target[index]


def delete_attribute(target: Any, name: str) -> None:
    check_change(target, current())
    delattr(target, name)


def check_change_of_container(value: Any) -> None:
    """Only what is known to be a container: a method of another object may be called as it likes."""
    if isinstance(value, CONTAINERS):
        check_change(value, current())


def item_named(value: Any, old: Callable[[], Any] | None) -> Any:
    """The item of a loop that is given a name; where the name is a T.alloc_var, it is stored there."""
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

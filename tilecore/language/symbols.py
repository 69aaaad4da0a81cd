"""Sizes that have names: known at the call (``T.dynamic``), or read off the tensors when compiling (``T.const``)."""

from __future__ import annotations

from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError
from tilecore.frontend.caller import placed


@placed
def dynamic(name: str, dtype: str = "int32") -> Any:
    """A size that is known only when the kernel is called; one compiled kernel serves all its values.

    ``T.dynamic("m")`` gives one, ``T.dynamic("m n")`` or ``"m, n"`` a tuple. dtype: int32 or int64.
    """
    from tilecore.ir.nodes import Var

    names = _split(name)
    if str(dtype) not in ("int32", "int64"):
        raise LanguageError(f"a size of dtype {dtype}", expected="int32 or int64")
    made = tuple(Var(n, str(dtype)) for n in names)
    return made[0] if len(made) == 1 else made


symbolic = dynamic


@placed
def Var(name: str, dtype: str = "int32") -> Any:
    """A named variable of the IR; as a size it acts as ``T.dynamic``."""
    from tilecore.ir.nodes import Var as IRVar

    if not isinstance(name, str) or not name.isidentifier():
        raise LanguageError(f"{name!r} does not name a variable", expected='an identifier, as in "m"')
    return IRVar(name, str(DType(dtype)))


@placed
def const(name: str, dtype: str = "int32") -> Any:
    """In an eager kernel: sizes that are constants of the compiled kernel, read off the tensors it is called with.

    ``M, N = T.const("M, N")``; each gets its value where a parameter is declared: ``A: T.Tensor[[M, N], dtype]``.
    """
    made = tuple(ConstDim(n) for n in _split(name))
    return made[0] if len(made) == 1 else made


def _split(name: str) -> list[str]:
    names = name.replace(",", " ").split() if isinstance(name, str) else []
    if not names or not all(n.isidentifier() for n in names):
        raise LanguageError(f"{name!r} does not name sizes", expected='identifiers, as in "m" or "m, n"')
    return names


class ConstDim:
    """An integer that is not known yet: a name until a tensor's declaration gives it its value."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._value: int | None = None

    @property
    def known(self) -> bool:
        return self._value is not None

    @property
    def value(self) -> int:
        if self._value is None:
            raise LanguageError(
                f"the value of T.const {self.name!r} is not known yet",
                expected=f"a declaration before: A: T.Tensor[[{self.name}, ...], dtype]",
            )
        return self._value

    def settle(self, value: int, where: str) -> None:
        if self._value is not None and self._value != value:
            raise LanguageError(
                f"T.const {self.name!r} has two values", found=f"{self._value}, and {value} from {where}"
            )
        self._value = value

    def __index__(self) -> int:
        return self.value

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return str(self._value) if self.known else self.name

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return id(self)


def _delegate(name: str) -> None:
    def method(self: ConstDim, *others: Any) -> Any:
        plain = [o.value if isinstance(o, ConstDim) else o for o in others]
        return getattr(self.value, name)(*plain)

    method.__name__ = name
    setattr(ConstDim, name, method)


for _name in (
    "add radd sub rsub mul rmul floordiv rfloordiv mod rmod truediv rtruediv pow rpow lshift rlshift rshift rrshift "
    "and rand or ror xor rxor lt le gt ge eq ne neg pos abs invert"
).split():
    _delegate(f"__{_name}__")

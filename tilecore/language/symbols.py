"""Named sizes: known only at the call (``T.dynamic``), or constants that are read from the tensors (``T.const``)."""

from __future__ import annotations

from typing import Any

from tilecore.caller import placed
from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError


@placed
def dynamic(name: str, dtype: str = "int32") -> Any:
    """A size that is known only when the kernel is called; one compiled kernel serves all its values.

    ``T.dynamic("m")`` gives one, ``T.dynamic("m n")`` or ``"m, n"`` a tuple. dtype: int32 or int64.
    """
    from tilecore.ir.nodes import Var

    names = _split(name)
    if str(dtype) not in ("int32", "int64"):
        raise LanguageError(f"a size has the element type {dtype}", expected="int32 or int64")
    variables = tuple(Var(n, str(dtype)) for n in names)
    return variables[0] if len(variables) == 1 else variables


symbolic = dynamic


class _VarType(type):
    """What T.Var is an instance of, so that ``isinstance(size, T.Var)`` tells sizes of the call from numbers."""

    def __instancecheck__(cls, value: Any) -> bool:
        from tilecore.ir.nodes import Var as IRVar
        from tilecore.ir.nodes import is_buffer_var

        return isinstance(value, IRVar) and not is_buffer_var(value)

    @placed
    def __call__(cls, name: str, dtype: str = "int32") -> Any:
        from tilecore.ir.nodes import Var as IRVar

        if not isinstance(name, str) or not name.isidentifier():
            raise LanguageError(f"{name!r} is not a variable name", expected='an identifier, as in "m"')
        return IRVar(name, str(DType(dtype)))


class Var(metaclass=_VarType):
    """A named variable of the IR; as a size it acts as ``T.dynamic``. ``isinstance(x, T.Var)``: is x such a size, or
    another variable of the kernel? As a macro's annotation it is ``T.Ref``."""


@placed
def const(name: str, dtype: str = "int32") -> Any:
    """In an eager kernel: sizes that are constants of the compiled kernel, read off the tensors it is called with.

    ``M, N = T.const("M, N")``; each gets its value where a parameter is declared: ``A: T.Tensor[[M, N], dtype]``, or
    from the call, by its name: ``kernel.compile(M=64, N=64)``.
    """
    from tilecore.tracing.current import active

    sizes = tuple(ConstDim(n) for n in _split(name))
    builder = active()
    if builder is not None and builder.on_const is not None:
        for size in sizes:
            builder.on_const(size)
    return sizes[0] if len(sizes) == 1 else sizes


def _split(name: str) -> list[str]:
    names = name.replace(",", " ").split() if isinstance(name, str) else []
    if not names or not all(n.isidentifier() for n in names):
        raise LanguageError(f"{name!r} is not a list of names", expected='identifiers, as in "m" or "m, n"')
    return names


class ConstDim:
    """The size of a T.const: it has only a name until a tensor's declaration, or the call, sets its value.

    Arithmetic with a size that has no value yet gives a DerivedDim, which has a value when all its operands have one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._value: int | None = None
        self._source = ""

    @property
    def is_known(self) -> bool:
        return self._value is not None

    @property
    def value(self) -> int:
        if self._value is None:
            raise LanguageError(
                f"the value of T.const {self.name!r} is not known yet",
                expected="the declaration of a tensor with this size in front of it: "
                f'{self.name} = T.const("{self.name}") and then A: T.Tensor[[{self.name}, 64], "float32"]',
                hint=self._value_elsewhere(),
            )
        return self._value

    def _value_elsewhere(self) -> str:
        """Where the value comes from if no tensor has it."""
        from tilecore.tracing.current import active

        by_name = (
            f"a size that no tensor has is given by its name: kernel(x, {self.name}=64), kernel.compile({self.name}=64)"
        )
        builder = active()
        if builder is not None and builder.on_const is not None:
            return by_name
        return (
            f"{by_name}; for a T.prim_func, which has no T.const, make it a parameter of the function around it, or "
            f'{self.name} = T.dynamic("{self.name}")'
        )

    def named_sizes(self) -> list[ConstDim]:
        """The T.const sizes from which it is computed."""
        return [self]

    def clear_value(self) -> None:
        """Remove the value, for another compilation."""
        self._value = None

    def set_value(self, value: int, where: str) -> None:
        """Set the value; a LanguageError where it has another one. where: the source of ``value``, for the error."""
        if self._value is not None and self._value != value:
            first = f"{self._value} from {self._source}" if self._source else str(self._value)
            raise LanguageError(
                f"T.const {self.name!r} has two values",
                found=f"{first}, and {value} from {where}",
                hint='sizes that may differ need names of their own: M, N = T.const("M, N")',
            )
        if self._value is None:
            self._source = where
        self._value = value

    def __index__(self) -> int:
        return self.value

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.value)

    def __repr__(self) -> str:
        return str(self.value) if self.is_known else self.name

    def __format__(self, spec: str) -> str:
        return format(self.value, spec) if spec else repr(self)

    def __getattr__(self, name: str) -> Any:
        """The methods of int, of a size that has a value."""
        if name.startswith("_") or not hasattr(int, name):
            raise AttributeError(f"T.const {self.name!r} has no attribute {name!r}")
        return getattr(self.value, name)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __hash__(self) -> int:
        return hash(self.value)  # equal to the hash of the int, as the two compare equal


class DerivedDim(ConstDim):
    """The result of arithmetic with a T.const that has no value yet, such as ``K // 2``."""

    def __init__(self, name: str, method: str, operands: tuple[Any, ...]) -> None:
        super().__init__(name)
        self._method = method
        self._operands = operands

    @property
    def is_known(self) -> bool:
        return all(operand.is_known for operand in self._operands if isinstance(operand, ConstDim))

    @property
    def value(self) -> int:
        first, *others = (o.value if isinstance(o, ConstDim) else o for o in self._operands)
        return _applied(self._method, first, others)

    def named_sizes(self) -> list[ConstDim]:
        return [size for operand in self._operands if isinstance(operand, ConstDim) for size in operand.named_sizes()]

    def set_value(self, value: int, where: str) -> None:
        """Check that ``value`` is the value that the operands give."""
        if self.value != value:
            raise LanguageError(f"the size {self.name} is {self.value}", found=f"{value} from {where}")


def _applied(method: str, first: Any, others: list[Any]) -> Any:
    """Calls the method of int, or of float where an operand is a float."""
    return getattr(float(first) if any(isinstance(o, float) for o in others) else first, method)(*others)


# arithmetic methods and their signs; comparisons need the values
_ARITHMETIC = {
    "add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "truediv": "/", "pow": "**",
    "lshift": "<<", "rshift": ">>", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
_UNARY = {"neg": "-", "pos": "+", "invert": "~"}


def _delegate(method: str, text: str | None = None) -> None:
    """Give ConstDim the method of int. text: the name of the result while operands have no value; None: the method
    needs the values."""

    def call(self: ConstDim, *others: Any) -> Any:
        is_known = all(o.is_known for o in (self, *others) if isinstance(o, ConstDim))
        if not is_known and text is not None and all(isinstance(o, (int, float, ConstDim)) for o in others):
            return DerivedDim(text.format(*map(_named, (self, *others))), method, (self, *others))
        return _applied(method, self.value, [o.value if isinstance(o, ConstDim) else o for o in others])

    call.__name__ = method
    setattr(ConstDim, method, call)


def _named(operand: Any) -> str:
    text = repr(operand)
    return text if text.isidentifier() or text.isdecimal() else f"({text})"


for _name, _sign in _ARITHMETIC.items():
    _delegate(f"__{_name}__", f"{{0}} {_sign} {{1}}")
    _delegate(f"__r{_name}__", f"{{1}} {_sign} {{0}}")
for _name, _sign in _UNARY.items():
    _delegate(f"__{_name}__", f"{_sign}{{0}}")
for _name in "lt le gt ge eq ne abs".split():
    _delegate(f"__{_name}__")

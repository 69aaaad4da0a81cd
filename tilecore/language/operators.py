"""Python's operators on the handles and values of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilecore.errors import LanguageError
from tilecore.language.arithmetic import METHODS, SIGNS, binary, power
from tilecore.language.values import KernelValue, as_expr, no_key

if TYPE_CHECKING:
    from tilecore.ir.nodes import Expr


class Arithmetic(KernelValue):
    """Python's operators on a value that becomes an expression when used."""

    def __tvm_ffi_object__(self) -> Expr:
        """TVM's own operators, with this on their right, take it as the expression."""
        return self.expr()

    def __eq__(self, other: Any) -> Any:
        return as_expr(self.expr() == as_expr(other))

    def __ne__(self, other: Any) -> Any:
        return as_expr(self.expr() != as_expr(other))

    def __hash__(self) -> int:
        raise no_key(self)

    def __bool__(self) -> bool:
        raise LanguageError(
            "a value of the kernel is used as a Python condition",
            hint="write the `if` directly in the kernel or in a T.macro, or use T.if_then_else",
        )


def _operator(word: str, turned: bool = False) -> Callable[[Any, Any], Expr]:
    return lambda a, b: binary(word, b, a) if turned else binary(word, a, b)


for _word in SIGNS:
    setattr(Arithmetic, f"__{_word}__", _operator(_word))
    if _word not in ("lt", "le", "gt", "ge"):
        setattr(Arithmetic, f"__r{_word}__", _operator(_word, turned=True))
for _name, _function in METHODS.items():
    setattr(Arithmetic, _name, _function)
Arithmetic.__rpow__ = lambda a, b: power(b, a)  # type: ignore[attr-defined]

"""Python's operators on what users hold of a kernel."""

from __future__ import annotations

from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import Expr
from tilecore.language.values import KernelValue, as_expr


class Arithmetic(KernelValue):
    """Python's operators on a value that becomes an expression when used."""

    def __tvm_ffi_object__(self) -> Expr:
        """TVM's own operators, with this on their right, take it as the expression."""
        return self.expr()

    def __add__(self, other: Any) -> Expr:
        return self.expr() + as_expr(other)

    def __radd__(self, other: Any) -> Expr:
        return as_expr(other) + self.expr()

    def __sub__(self, other: Any) -> Expr:
        return self.expr() - as_expr(other)

    def __rsub__(self, other: Any) -> Expr:
        return as_expr(other) - self.expr()

    def __mul__(self, other: Any) -> Expr:
        return self.expr() * as_expr(other)

    def __rmul__(self, other: Any) -> Expr:
        return as_expr(other) * self.expr()

    def __truediv__(self, other: Any) -> Expr:
        return self.expr() / as_expr(other)

    def __rtruediv__(self, other: Any) -> Expr:
        return as_expr(other) / self.expr()

    def __floordiv__(self, other: Any) -> Expr:
        return self.expr() // as_expr(other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return as_expr(other) // self.expr()

    def __mod__(self, other: Any) -> Expr:
        return self.expr() % as_expr(other)

    def __rmod__(self, other: Any) -> Expr:
        return as_expr(other) % self.expr()

    def __neg__(self) -> Expr:
        return -self.expr()

    def __invert__(self) -> Expr:
        return ~self.expr()

    def __lshift__(self, other: Any) -> Expr:
        return self.expr() << as_expr(other)

    def __rlshift__(self, other: Any) -> Expr:
        return as_expr(other) << self.expr()

    def __rshift__(self, other: Any) -> Expr:
        return self.expr() >> as_expr(other)

    def __rrshift__(self, other: Any) -> Expr:
        return as_expr(other) >> self.expr()

    def __and__(self, other: Any) -> Expr:
        return self.expr() & as_expr(other)

    def __rand__(self, other: Any) -> Expr:
        return as_expr(other) & self.expr()

    def __or__(self, other: Any) -> Expr:
        return self.expr() | as_expr(other)

    def __ror__(self, other: Any) -> Expr:
        return as_expr(other) | self.expr()

    def __xor__(self, other: Any) -> Expr:
        return self.expr() ^ as_expr(other)

    def __rxor__(self, other: Any) -> Expr:
        return as_expr(other) ^ self.expr()

    def __lt__(self, other: Any) -> Expr:
        return self.expr() < as_expr(other)

    def __le__(self, other: Any) -> Expr:
        return self.expr() <= as_expr(other)

    def __gt__(self, other: Any) -> Expr:
        return self.expr() > as_expr(other)

    def __ge__(self, other: Any) -> Expr:
        return self.expr() >= as_expr(other)

    def __eq__(self, other: Any) -> Any:
        return as_expr(self.expr() == as_expr(other))

    def __ne__(self, other: Any) -> Any:
        return as_expr(self.expr() != as_expr(other))

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise LanguageError(
            "a value of the kernel is used as a Python condition",
            hint="decide with `if` directly in the kernel or a T.macro, or with T.if_then_else",
        )

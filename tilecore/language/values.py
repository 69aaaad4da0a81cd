"""What stands for a value of the kernel: expressions of the IR, and objects that become one when used."""

from __future__ import annotations

import numbers
from typing import Any

from tilecore.errors import LanguageError
from tilecore.ir.nodes import Expr, FloatImm, IntImm, TensorRegion, is_buffer_var, is_prim_expr, tirx
from tilecore.language.symbols import ConstDim

_LAZY = (tirx.expr.EqualOp, tirx.expr.NotEqualOp)  # what == and != of expressions return


class KernelValue:
    """What users hold of a kernel that is not an expression itself."""

    def expr(self) -> Expr:
        """The value as an expression, where it is used; a LanguageError for what has none."""
        raise NotImplementedError


def is_kernel_value(value: Any) -> bool:
    """Is it known only when the kernel runs? Integer and float constants of the IR count as Python's."""
    if isinstance(value, (IntImm, FloatImm)):
        return False
    return isinstance(value, (KernelValue, _LAZY, TensorRegion)) or is_prim_expr(value)


def as_expr(value: Any, kind: str | None = None) -> Expr:
    """``value`` as an expression; Python numbers become constants of ``kind`` (int32, float32, bool by default)."""
    if isinstance(value, KernelValue):
        return value.expr()
    if isinstance(value, ConstDim):
        value = value.value
    if isinstance(value, bool):
        return tirx.const(value, kind or "bool")
    if isinstance(value, numbers.Integral):
        if not -(2**63) <= int(value) < 2**63 and (kind is None or not -(2**63) <= int(value) < 2**64):
            raise LanguageError(f"{int(value)} does not fit in 64 bits")
        fits = -(2**31) <= int(value) < 2**31
        return tirx.const(int(value), kind or ("int32" if fits else "int64"))
    if isinstance(value, numbers.Real):
        from tilecore.language.conversions import convert

        return convert(float(value), kind or "float32")
    if is_prim_expr(value):
        if is_buffer_var(value):
            raise LanguageError(f"{value} is a buffer, not a value", hint=f"index it: {value}[...]")
        return value
    if isinstance(value, _LAZY):
        return _compared(value)
    if isinstance(value, TensorRegion):
        raise LanguageError(
            "a slice of a buffer stands where a value is expected",
            found=str(value),
            expected="an element, with one index for each axis",
            hint="T.Parallel loops over elements; T.copy, T.reduce_sum and the like take tiles",
        )
    kind = type(value).__name__
    article = "" if value is None else "an " if kind[0] in "aeiouAEIOU" or kind == "ndarray" else "a "
    raise LanguageError(
        f"{article}{'None' if value is None else kind} stands where a value of the kernel is expected",
        found=repr(value)[:80],
        expected="a number or an expression",
    )


def _compared(value: Any) -> Expr:
    """``a == b`` or ``a != b``, in the type that holds both."""
    from tilecore.language.conversions import unify

    return type(value)(*unify(value.a, value.b), value.span).asobject()


def _guard_truth() -> None:
    """``==`` of expressions is lazy in TVM, and its truth is identity: wrong in a helper that decides on it in Python.
    While a kernel is built, asking for it is an error."""
    for kind in _LAZY:
        plain = kind.__bool__

        def truth(self: Any, plain: Any = plain) -> bool:
            from tilecore.frontend.builder import active

            builder = active()
            if builder is None:
                return plain(self)
            raise LanguageError(
                "a comparison of kernel values is decided by plain Python",
                found=str(self.asobject()),
                hint="decide in the kernel itself or in a T.macro, or use T.if_then_else",
            ).at(builder.location)

        kind.__bool__ = truth


_guard_truth()

"""Values of the kernel: expressions of the IR, and objects that become an expression when used."""

from __future__ import annotations

import functools
import numbers
import sys
from importlib.metadata import entry_points
from types import FrameType
from typing import Any

from tilecore.errors import LanguageError, WrongTypeError
from tilecore.ir.nodes import Expr, FloatImm, IntImm, TensorLoad, TensorRegion, Var, is_buffer_var, is_prim_expr, tirx
from tilecore.language.symbols import ConstDim
from tilecore.tracing.current import active

# Python's operators by their methods' names
SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "lshift": "<<",
    "rshift": ">>",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
}
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
            raise WrongTypeError(f"{value} is a buffer, not a value", hint=f"index it: {value}[...]")
        return value
    if isinstance(value, _LAZY):
        return _compared(value)
    if isinstance(value, TensorRegion):
        raise WrongTypeError(
            "a slice of a buffer stands where a value is expected",
            found=str(value),
            expected="an element, with one index for each axis",
            hint="T.Parallel loops over elements; T.copy, T.reduce_sum and the like take tiles",
        )
    kind = type(value).__name__
    article = "" if value is None else "an " if kind[0] in "aeiouAEIOU" or kind == "ndarray" else "a "
    raise WrongTypeError(
        f"{article}{'None' if value is None else kind} stands where a value of the kernel is expected",
        found=repr(value)[:80],
        expected="a number or an expression",
        hint=_HINTS.get(kind),
    )


_HINTS = {
    "NoneType": "no value of the kernel is None; what may be left out is decided in Python, by `is None`",
    "tuple": "give each part a name: `as (bx, by)` of T.Kernel, `for i, j in T.Parallel(m, n)`; two results are two "
    "choices: a if c else b for each",
    "Tensor": "make it a parameter of the kernel, a T.Tensor, and index that",
    "ndarray": "make it a parameter of the kernel, a T.Tensor, and index that",
}


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
            builder = active()
            if builder is None:
                return plain(self)
            raise LanguageError(
                "a comparison of kernel values is used as a condition by Python outside the kernel's own statements",
                found=str(self.asobject()),
                hint="write the `if` in the kernel itself or in a T.macro, or use T.if_then_else",
            ).at(builder.location)

        kind.__bool__ = truth


def _guard_hash() -> None:
    """A dict or a set finds an expression by its identity, so that looking one up in a kernel never finds an equal
    number. While a kernel is built, asking for its hash is an error in all but the compiler's own code."""
    for kind in {next(c for c in start.__mro__ if "__hash__" in c.__dict__) for start in (Var, tirx.Add, TensorLoad)}:
        plain = kind.__hash__

        def hashed(self: Any, plain: Any = plain) -> int:
            builder = active()
            if builder is not None and is_users_code(sys._getframe(1)):
                raise no_key(self).at(builder.location)
            return plain(self)  # type: ignore[no-any-return]

        kind.__hash__ = hashed


def no_key(value: Any) -> LanguageError:
    return LanguageError(
        "a value of the kernel is used as a key of a Python dict or set",
        found=f"{value}, which is known only when the kernel runs",
        expected="a key that Python knows",
        hint="put the table in memory of the kernel (a T.alloc_local, a tensor) and index it; compare with `==`, or "
        "with `in` directly in the kernel; choose with T.if_then_else",
    )


def is_users_code(frame: FrameType) -> bool:
    """Is it a function of the user's, neither the compiler's nor a backend's?"""
    if "__tc" in frame.f_code.co_freevars:
        return True
    return _is_users_module(str(frame.f_globals.get("__name__", "")))


@functools.lru_cache(maxsize=4096)
def _is_users_module(name: str) -> bool:
    return name.partition(".")[0] not in _compilers()


@functools.cache
def _compilers() -> frozenset[str]:
    """The packages that build kernels: tilecore, TVM and the installed backends."""
    backends = {point.value.partition(".")[0] for point in entry_points(group="tilecore.backends")}
    return frozenset({"tilecore", "tvm", "tvm_ffi", *backends})


def _show_in_place() -> None:
    """While a kernel is built, an expression is shown with the loads that its variables hold."""
    plain = Expr.__repr__

    def shown(self: Any) -> str:
        from tilecore.tracing.current import active

        builder = active()
        return plain(self if builder is None else builder.in_place(self))

    Expr.__repr__ = shown


_guard_truth()
_guard_hash()
_show_in_place()

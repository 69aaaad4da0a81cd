"""TileLang's names of the functions that may be less exact, T.__exp and others: here they are as exact as T.exp.

They take floats of 16 bits or more only, as TileLang's do, and are defined outside of kernels, too.
"""

from __future__ import annotations

import numbers
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import WrongTypeError
from tilecore.language import numeric
from tilecore.language.values import as_expr


def _fast(name: str) -> Any:
    exact = getattr(numeric, name)

    def function(x: Any) -> Any:
        if isinstance(x, numbers.Real) and not isinstance(x, numbers.Integral):
            return exact(x)
        kind = DType(str(as_expr(x).ty.dtype))
        if not kind.is_float or kind.bits < 16:
            raise WrongTypeError(
                f"T.__{name} only supports floating-point inputs, but got {kind}",
                found=str(x),
                expected="float16, bfloat16, float32 or float64",
                hint=f"T.{name} takes integers and small floats, too; T.cast(x, dtype) converts",
            )
        return exact(x)

    function.__name__ = function.__qualname__ = f"__{name}"
    function.__doc__ = f"T.{name} of a float of 16 bits or more. Raises WrongTypeError for other types."
    return function


exp, exp10, log, log2, log10 = (_fast(name) for name in ("exp", "exp10", "log", "log2", "log10"))
sin, cos, tan = (_fast(name) for name in ("sin", "cos", "tan"))

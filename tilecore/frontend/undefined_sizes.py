"""Refuses kernels that read a symbolic size whose value no argument of the call gives."""

from __future__ import annotations

from tilecore.errors import LanguageError, Location
from tilecore.ir.nodes import PrimFunc, is_buffer_var, tirx
from tilecore.ir.sizes import symbols_in


def check_sizes(function: PrimFunc, place: Location) -> None:
    """Raise LanguageError where the body reads a variable that is no parameter, that no parameter's shape has, and that
    nothing in the body defines. place: where the function's definition begins."""
    sizes = symbols_in(function.params)
    for variable in tirx.analysis.undefined_vars(function.body, list(function.params)):
        if is_buffer_var(variable) or any(variable.same_as(size) for size in sizes):
            continue
        raise LanguageError(
            f"the kernel reads the size {str(variable.name)!r}, whose value no argument gives",
            location=place,
            expected="a tensor parameter with this size as an axis",
            hint=f"or pass the number as a scalar parameter, {variable.name}: T.{variable.ty.dtype}",
        )

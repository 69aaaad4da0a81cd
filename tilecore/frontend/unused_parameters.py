"""``tilecore.transform.simplify``: a kernel function without the tensors that it does not use.

Kernels are simplified when they are compiled; what remains of TileLang's functions is that calls pass fewer tensors.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from tilecore.frontend.function import PrimFunc
from tilecore.ir.attributes import FunctionAttr
from tilecore.ir.nodes import PrimFunc as IRFunction
from tilecore.ir.nodes import is_buffer_var
from tilecore.ir.sizes import symbols_in
from tilecore.ir.visit import variables


def apply_simplify(stmt: Any, inline_let: bool = False) -> Any:
    """The kernel function without its tensor parameters that the body does not use: a call does not pass them. A tensor
    stays where it alone has a size that the function needs, and so do scalars and outputs of T.empty. inline_let:
    without effect. Anything but a T.prim_func, or its IR, is returned as it is."""
    if isinstance(stmt, PrimFunc):
        shortened = _without_unused(stmt.ir)
        return stmt if shortened is stmt.ir else stmt.with_ir(shortened)
    return _without_unused(stmt) if isinstance(stmt, IRFunction) else stmt


def simplify_prim_func(func: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of a function that returns a T.prim_func: apply_simplify is applied to its result."""

    @functools.wraps(func)
    def simplified(*args: Any, **kwargs: Any) -> Any:
        return apply_simplify(func(*args, **kwargs))

    return simplified


def _without_unused(function: Any) -> Any:
    attributes = function.attrs or {}
    used = variables(function.body)
    count = len(function.params)
    outputs = {int(place) % count for place in attributes.get(FunctionAttr.OUT_IDX, ())} if count else set()
    params = [
        param
        for place, param in enumerate(function.params)
        if not is_buffer_var(param) or param in used or place in outputs
    ]
    needed = {*used, *(size for param in params for size in symbols_in([param]))}
    for place, param in enumerate(function.params):
        sizes = set(symbols_in([param]))
        if param not in params and sizes & needed - set(symbols_in(params)):
            params.insert(sum(other in params for other in function.params[:place]), param)
    if len(params) == count:
        return function
    return IRFunction(params, function.body, function.ret_type, function.attrs, function.span)

"""T.prim_func and T.macro: from a user's function to tile IR."""

from __future__ import annotations

import functools
import inspect
import sys
import time
from collections.abc import Callable
from types import FrameType, FunctionType
from typing import Any

from tilecore.caller import placed
from tilecore.errors import WrongTypeError
from tilecore.frontend.signature import annotations_of, evaluate_strings


class PrimFunc:
    """A kernel function in the tile language. Behaves as the TVM PrimFunc that it builds (``.ir``).

    A function of a module is built when first needed; one inside another function at once, as its closure may change.
    """

    def __init__(self, function: FunctionType, annotations: dict[str, Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.annotations = annotations
        self._ir: Any = None
        self.seconds_before = 0.0  # that building the IR took, where it was built with the function
        if function.__closure__ or "<locals>" in function.__qualname__:
            start = time.perf_counter()
            self._build()
            self.seconds_before = time.perf_counter() - start

    def _build(self) -> Any:
        from tilecore.frontend.elaborate import build_prim_func

        self._ir = build_prim_func(self.function, self.annotations)
        return self._ir

    def with_ir(self, ir: Any) -> PrimFunc:
        """The same function with another IR, which a program has made of it."""
        function = object.__new__(PrimFunc)
        function.__dict__.update(self.__dict__, _ir=ir)
        return function

    @property
    def ir(self) -> Any:
        """The function as a ``tvm.tirx.PrimFunc`` of tile operations."""
        return self._ir if self._ir is not None else self._build()

    @property
    def buffer_map(self) -> dict[Any, Any]:
        """The tensor parameters by themselves: in this version of TVM a parameter is the buffer."""
        from tilecore.ir.nodes import is_buffer_var

        return {param: param for param in self.ir.params if is_buffer_var(param)}

    def script(self, **options: Any) -> str:
        """The tile IR as text."""
        return self.ir.script(**options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name == "ir":  # the kernel itself raised an AttributeError: raise it again
            return self._build()
        return getattr(self.ir, name)

    def __repr__(self) -> str:
        return f"<T.prim_func {self.function.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise WrongTypeError(
            f"{self.function.__name__} is a T.prim_func and cannot be called directly",
            hint=f"compile it: kernel = tilecore.compile({self.function.__name__}); kernel(...)",
        )


@placed
def prim_func(func: Callable[..., Any] | None = None, *, eager_jit: bool = False, private: bool = False) -> Any:
    """Decorator: a kernel function. Its parameters are annotated with T.Tensor, T.StridedTensor or an element type."""
    if func is None:
        return functools.partial(placed(_prim_func), depth=2)
    return _prim_func(func, depth=3)


def _prim_func(func: Any, depth: int = 1) -> PrimFunc:
    if isinstance(func, PrimFunc):
        return func
    if not inspect.isfunction(func):
        raise WrongTypeError(
            "T.prim_func decorates something that is not a function",
            found=type(func).__name__,
            expected="a function definition",
        )
    caller = _caller(depth)
    return PrimFunc(func, evaluate_strings(func, annotations_of(func), caller))


def _caller(depth: int) -> FrameType | None:
    try:
        return sys._getframe(depth + 1)
    except ValueError:
        return None


class Macro:
    """A function whose body is built into the kernel where it is called. Python values pass through as they are."""

    def __init__(self, function: FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from tilecore.frontend.elaborate import call_macro

        return call_macro(self.function, args, kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<T.macro {self.function.__qualname__}>"


@placed
def macro(func: Callable[..., Any] | None = None) -> Any:
    """Decorator: a function of the kernel language that kernels (and macros) call; it may return values."""
    if func is None:
        return macro
    if not inspect.isfunction(func):
        raise WrongTypeError(
            "T.macro decorates something that is not a function",
            found=type(func).__name__,
            expected="a function definition",
        )
    return Macro(func)

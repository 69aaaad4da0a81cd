"""Runs the body of an eager kernel: declarations make its parameters, T.empty its outputs."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import LanguageError, Location
from tilecore.frontend.builder import Builder
from tilecore.frontend.elaborate import finish, parameter_of, run, tensor_var
from tilecore.ir.nodes import Var, is_prim_expr
from tilecore.language.annotations import TensorType
from tilecore.language.buffers import BufferHandle
from tilecore.language.symbols import ConstDim
from tilecore.language.values import KernelValue


class _Undeclared(KernelValue):
    """A tensor argument before the body declares it."""

    def __init__(self, name: str, kind: TensorType) -> None:
        self.name = name
        self.kind = kind

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "shape":
            return self.kind.shape
        if attribute == "dtype":
            return self.kind.dtype
        raise AttributeError(attribute)

    def _refuse(self, *args: Any) -> Any:
        raise LanguageError(
            f"parameter {self.name!r} is used before it is declared",
            expected=f"{self.name}: T.Tensor[[...], dtype] before T.Kernel",
        )

    expr = __getitem__ = __setitem__ = __call__ = __iter__ = __len__ = __bool__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __float__ = __index__ = _refuse


class _Elaboration:
    def __init__(self, function: FunctionType, types: dict[str, Any], place: Location) -> None:
        self.function = function
        self.types = types
        self.place = place
        self.builder = Builder(function.__name__)
        self.params: dict[str, Var] = {}
        self.outputs: list[BufferHandle] = []
        self.builder.on_annotation = self.declare
        self.builder.on_empty = self.output

    def declare(self, name: str, annotation: Any, old: Any) -> Any:
        """``name: T.Tensor[[...], dtype]`` or ``name: T.int32`` in the body."""
        if name not in self.types:
            raise LanguageError(f"`{name}: ...` declares what is not a parameter", expected=", ".join(self.types))
        given = self.types[name]
        if isinstance(annotation, TensorType):
            if not isinstance(given, TensorType):
                raise LanguageError(f"parameter {name!r} is declared a tensor", found=repr(given)[:60])
            self._settle(name, annotation, given)
        elif isinstance(given, TensorType):
            raise LanguageError(f"parameter {name!r} is a tensor", found=repr(annotation), expected="T.Tensor[...]")
        elif not isinstance(annotation, DType) and annotation not in (int, float, bool):
            return old
        var, value = parameter_of(self.builder, name, annotation)
        self.params[name] = var
        return value

    def _settle(self, name: str, declared: TensorType, given: TensorType) -> None:
        """Give the T.const sizes of a declaration the values that the tensor has."""
        if len(declared.shape) != len(given.shape):
            axes = "1 axis" if len(given.shape) == 1 else f"{len(given.shape)} axes"
            raise LanguageError(f"parameter {name!r} has {axes}", expected=f"{len(declared.shape)}, as declared")
        if str(declared.dtype.facts.torch) != str(given.dtype.facts.torch):
            raise LanguageError(f"parameter {name!r} holds {given.dtype}", expected=str(declared.dtype))
        for axis, (size, actual) in enumerate(zip(declared.shape, given.shape, strict=True)):
            if isinstance(size, ConstDim):
                size.settle(int(actual), f"{name}.shape[{axis}]")
            elif isinstance(size, int) and size != actual and not is_prim_expr(actual):
                raise LanguageError(f"axis {axis} of {name!r} has size {actual}", expected=str(size))

    def output(self, shape: list[Any], dtype: DType) -> BufferHandle:
        """T.empty: a further parameter, which the call allocates."""
        handle = _Output(shape, dtype, self.builder)
        self.outputs.append(handle)
        return handle


class _Output(BufferHandle):
    """A T.empty; named by the assignment that it first stands in."""

    def __init__(self, shape: list[Any], dtype: DType, builder: Builder) -> None:
        self._kind = TensorType(tuple(shape), dtype)
        self._builder = builder
        self._buffer: Any = None

    @property
    def buffer(self) -> Any:  # type: ignore[override]
        if self._buffer is None:
            self._buffer = tensor_var(self._builder.unique("out"), self._kind)
        return self._buffer

    def name_once(self, builder: Builder, name: str) -> bool:
        if self._buffer is None:
            self._buffer = tensor_var(builder.unique(name), self._kind)
        return True


def elaborate(
    function: FunctionType, types: dict[str, Any], annotations: dict[str, Any], place: Location
) -> tuple[Any, tuple[str, ...], tuple[int, ...]]:
    """The tile IR; the names of the parameters that a call passes; the positions of its outputs, as returned."""
    work = _Elaboration(function, types, place)
    values: dict[str, Any] = {}
    for name, given in types.items():
        values[name] = _Undeclared(name, given) if isinstance(given, TensorType) else given
        if isinstance(annotations.get(name), (TensorType, DType)):
            values[name] = work.declare(name, annotations[name], None)
    returned = run(work.builder, function, [], values)
    missing = [n for n, g in types.items() if isinstance(g, TensorType) and n not in work.params]
    if missing:
        raise LanguageError(
            f"parameter {missing[0]!r} of {function.__name__} is not declared",
            location=place,
            expected=f"{missing[0]}: T.Tensor[[...], dtype] in the signature or the body",
        )
    names = tuple(name for name in types if name in work.params)
    outputs = _returned(returned, work, place)
    params = [work.params[n] for n in names] + [h.buffer for h in outputs]
    positions = tuple(range(len(names), len(params)))
    return finish(work.builder, params, place), names, positions


def _returned(returned: Any, work: _Elaboration, place: Location) -> list[BufferHandle]:
    wanted = list(returned) if isinstance(returned, (tuple, list)) else ([] if returned is None else [returned])
    for handle in wanted:
        if not any(handle is output for output in work.outputs):
            raise LanguageError(
                f"{work.function.__name__} returns what is not an output",
                location=place,
                found=repr(handle)[:60],
                expected="tensors made by T.empty",
            )
    if len(wanted) != len(work.outputs):
        raise LanguageError(
            f"{work.function.__name__} makes outputs with T.empty that it does not return", location=place
        )
    return wanted

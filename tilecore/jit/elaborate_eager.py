"""Runs the body of an eager kernel: declarations make its parameters, T.empty its outputs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import ArgumentError, LanguageError, Location
from tilecore.frontend.elaborate import finish, parameter_of, run, tensor_var
from tilecore.ir.nodes import Var, is_prim_expr
from tilecore.jit.eager_call import LEFT_OUT, EagerCall
from tilecore.language.annotations import TensorType, is_pointer
from tilecore.language.buffers import BufferHandle
from tilecore.language.pointers import Pointer
from tilecore.language.symbols import ConstDim, DerivedDim
from tilecore.language.values import KernelValue
from tilecore.tracing.builder import Builder
from tilecore.tracing.current import current


class _Undeclared(KernelValue):
    """A tensor argument, or one that was left out, before the body declares it. kind: None for one left out."""

    def __init__(self, name: str, kind: TensorType | None) -> None:
        self.name = name
        self.kind = kind

    def __getattr__(self, attribute: str) -> Any:
        if attribute not in ("shape", "dtype"):
            raise AttributeError(attribute)
        return getattr(self.kind, attribute) if self.kind is not None else self._refuse()

    def _refuse(self, *args: Any) -> Any:
        if self.kind is None:
            raise ArgumentError(
                f"parameter {self.name!r} was left out, and is used before it is declared a tensor",
                expected=f"{self.name}=... in the call, or {self.name}: T.Tensor[[...], dtype] before T.Kernel",
            ).at(current().location)
        raise LanguageError(
            f"parameter {self.name!r} is used before it is declared",
            expected=f"{self.name}: T.Tensor[[...], dtype] before T.Kernel",
        )

    expr = __getitem__ = __setitem__ = __call__ = __iter__ = __len__ = __bool__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __int__ = __float__ = __index__ = _refuse

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True)
class _Check:
    """A declared size that is compared with the tensor's size later, when its T.const names have values."""

    size: DerivedDim
    actual: int
    where: str
    location: Location | None


class _Elaboration:
    def __init__(self, function: FunctionType, call: EagerCall, place: Location) -> None:
        self.function = function
        self.types = call.types
        self.constants = dict(call.constants)
        self.place = place
        self.builder = Builder(function.__name__)
        self.params: dict[str, Var] = {}
        self.outputs: list[BufferHandle] = []
        self.checks: list[_Check] = []
        self.sizes: list[str] = []  # names of the T.const sizes, as they are made
        self.builder.on_annotation = self.declare
        self.builder.on_empty = self.output
        self.builder.on_const = self.constant

    def constant(self, size: ConstDim) -> None:
        """A T.const: it may have its value from the call."""
        self.sizes.append(size.name)
        if size.name in self.constants:
            size.set_value(self.constants[size.name], f"the argument {size.name}=")

    def begin(self, annotations: Iterable[Any]) -> None:
        """Reset the T.const sizes of the signature, which all compilations of the function share."""
        shapes = [annotation.shape for annotation in annotations if isinstance(annotation, TensorType)]
        sizes = [
            leaf for shape in shapes for size in shape if isinstance(size, ConstDim) for leaf in size.named_sizes()
        ]
        for size in {id(size): size for size in sizes}.values():
            size.clear_value()
            self.constant(size)

    def declare(self, name: str, annotation: Any, old: Any) -> Any:
        """``name: T.Tensor[[...], dtype]`` or ``name: T.int32`` in the body."""
        if name not in self.types:
            raise LanguageError(
                f"`{name}: ...` declares a name that is not a parameter",
                expected=", ".join(self.types),
                hint="tensors in a list or a tuple are not supported: pass each as its own parameter",
            )
        if name in self.params:
            raise LanguageError(f"parameter {name!r} is declared twice", expected="one declaration of it")
        argument = self.types[name]
        if isinstance(annotation, TensorType):
            if argument is LEFT_OUT:
                self._require(name, annotation)
            elif isinstance(argument, TensorType):
                annotation = self._settled(name, annotation, argument)
            else:
                raise LanguageError(f"parameter {name!r} is declared a tensor", found=repr(argument)[:60])
        elif isinstance(argument, TensorType):
            raise LanguageError(f"parameter {name!r} is a tensor", found=repr(annotation), expected="T.Tensor[...]")
        elif not isinstance(annotation, DType) and annotation not in (int, float, bool):
            return old
        var, value = parameter_of(self.builder, name, annotation)
        self.params[name] = var
        return value

    def _require(self, name: str, declared: TensorType) -> None:
        """Of a tensor that was left out, the declaration must say all sizes."""
        for size in (*declared.shape, *(declared.strides or ())):
            if isinstance(size, ConstDim) and not size.is_known:
                raise ArgumentError(
                    f"parameter {name!r} was left out, and the value of T.const {size.name!r} is not known",
                    found=repr(declared),
                    expected=f"{name}=... in the call (a tensor, or a T.Tensor type), or each T.const by its name",
                ).at(self.builder.location)

    def _settled(self, name: str, declared: TensorType, tensor_type: TensorType) -> TensorType:
        """Give the T.const sizes of a declaration the sizes of the tensor.

        A size computed from T.const sizes without a value yet takes the tensor's size; the end checks it."""
        if len(declared.shape) != len(tensor_type.shape):
            axes = "1 axis" if len(tensor_type.shape) == 1 else f"{len(tensor_type.shape)} axes"
            raise LanguageError(f"parameter {name!r} has {axes}", expected=f"{len(declared.shape)}, as declared")
        sizes = tensor_type.shape
        if declared.dtype.bits < 8 and tensor_type.dtype in ("int8", "uint8"):
            sizes = (*sizes[:-1], sizes[-1] * (8 // declared.dtype.bits))  # elements that share bytes
        elif str(declared.dtype.facts.torch) != str(tensor_type.dtype.facts.torch):
            raise LanguageError(f"parameter {name!r} holds {tensor_type.dtype}", expected=str(declared.dtype))
        shape = list(declared.shape)
        for axis, (size, actual) in enumerate(zip(declared.shape, sizes, strict=True)):
            where = f"{name}.shape[{axis}]"
            if isinstance(size, ConstDim):
                if is_prim_expr(actual):
                    raise LanguageError(
                        f"{where} is {actual}, and T.const {size.name!r} is a number", expected="an int"
                    )
                if isinstance(size, DerivedDim) and not size.is_known:
                    self.checks.append(_Check(size, int(actual), where, self.builder.location))
                    shape[axis] = int(actual)
                else:
                    size.set_value(int(actual), where)
            elif isinstance(size, int) and size != actual and not is_prim_expr(actual):
                raise LanguageError(f"axis {axis} of {name!r} has size {actual}", expected=str(size))
        settled = TensorType(tuple(shape), declared.dtype, declared.strides, scope=declared.scope)
        settled.lanes = declared.lanes
        return settled

    def check(self) -> None:
        """Check the sizes passed by name, and those that could not be compared when they were declared."""
        for name in self.constants:
            if name not in self.sizes:
                raise ArgumentError(
                    f"{self.function.__name__}() has no parameter and no T.const named {name!r}",
                    location=self.place,
                    expected=", ".join([*self.types, *self.sizes]),
                )
        for check in self.checks:
            try:
                check.size.set_value(check.actual, check.where)
            except LanguageError as error:
                raise error.at(check.location) from None

    def output(self, shape: list[Any], dtype: DType) -> BufferHandle:
        """T.empty: a further parameter, which the call allocates."""
        handle = _Output(shape, dtype, self.builder)
        self.outputs.append(handle)
        self.builder.parameters.append(handle)
        return handle


class _Output(BufferHandle):
    """A T.empty; named by the assignment that it first stands in."""

    def __init__(self, shape: list[Any], dtype: DType, builder: Builder) -> None:
        self._kind = TensorType(tuple(shape), dtype)
        self.lanes = self._kind.lanes
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
    function: FunctionType, call: EagerCall, annotations: dict[str, Any], place: Location
) -> tuple[Any, tuple[str, ...], tuple[int, ...]]:
    """The tile IR; the names of the parameters that a call passes; the positions of its outputs, as returned."""
    work = _Elaboration(function, call, place)
    work.begin(annotations.values())
    types = call.types
    values: dict[str, Any] = {}
    for name, argument in types.items():
        if argument is LEFT_OUT or isinstance(argument, TensorType):
            values[name] = _Undeclared(name, argument if isinstance(argument, TensorType) else None)
        else:
            values[name] = argument
        if isinstance(annotations.get(name), (TensorType, DType)):
            values[name] = work.declare(name, annotations[name], None)
        if is_pointer(annotations.get(name)):
            work.params[name], values[name] = parameter_of(work.builder, name, annotations[name])
    returned = run(work.builder, function, [], values)
    work.check()
    for name, argument in types.items():
        if name in work.params:
            continue
        if argument is LEFT_OUT:
            raise ArgumentError(
                f"{function.__name__}() needs its argument {name!r}: it is not declared a tensor",
                location=place,
                expected=f"{name}=... in the call",
            )
        if isinstance(argument, TensorType):
            raise LanguageError(
                f"parameter {name!r} of {function.__name__} is not declared",
                location=place,
                expected=f"{name}: T.Tensor[[...], dtype] in the signature or the body",
            )
    names = tuple(name for name in types if name in work.params)
    outputs = _returned(returned, work, place)
    inputs = [work.params[n] for n in names]
    params = [p.declared() if isinstance(p, Pointer) else p for p in inputs] + [h.buffer for h in outputs]
    positions = tuple(range(len(names), len(params)))
    return finish(work.builder, params, place), names, positions


def _returned(returned: Any, work: _Elaboration, place: Location) -> list[BufferHandle]:
    handles = list(returned) if isinstance(returned, (tuple, list)) else ([] if returned is None else [returned])
    for handle in handles:
        if not any(handle is output for output in work.outputs):
            raise LanguageError(
                f"{work.function.__name__} returns a value that is not an output",
                location=place,
                found=repr(handle)[:60],
                expected="tensors made by T.empty",
            )
    if len(handles) != len(work.outputs):
        left = [h.name for h in work.outputs if not any(h is handle for handle in handles)]
        raise LanguageError(
            f"{work.function.__name__} makes an output with T.empty that it does not return",
            found=f"{', '.join(left)}; returned: {', '.join(h.name for h in handles) or 'nothing'}",
            expected=f"return {', '.join(h.name for h in work.outputs)}",
            hint="T.alloc_global makes memory for one call that is not returned",
            location=place,
        )
    return handles

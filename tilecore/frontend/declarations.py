"""Parameters that a function's body declares (``A: T.Tensor[[M, N], dtype]``), and its outputs (``T.empty``)."""

from __future__ import annotations

from collections.abc import Collection
from types import FunctionType
from typing import Any

from tilecore.dtypes import dtype as DType
from tilecore.errors import ArgumentError, LanguageError, Location, WrongTypeError
from tilecore.ir.nodes import Var
from tilecore.language.annotations import PtrType, TensorType
from tilecore.language.buffers import BufferHandle
from tilecore.language.conversions import ir_dtype
from tilecore.language.pointers import Pointer
from tilecore.language.tensor_variables import tensor_var
from tilecore.language.values import KernelValue
from tilecore.tracing.builder import Builder
from tilecore.tracing.current import current


class Undeclared(KernelValue):
    """A parameter before the body declares it. kind: the type of the tensor that the call passes, if one is known.
    is_left_out: whether the call could have passed one, but did not."""

    def __init__(self, name: str, kind: TensorType | None = None, is_left_out: bool = False) -> None:
        self.name = name
        self.kind = kind
        self.is_left_out = is_left_out

    def __getattr__(self, attribute: str) -> Any:
        if attribute not in ("shape", "dtype"):
            raise AttributeError(attribute)
        return getattr(self.kind, attribute) if self.kind is not None else self._refuse()

    def _refuse(self, *args: Any) -> Any:
        if self.is_left_out:
            raise ArgumentError(
                f"parameter {self.name!r} was left out, and is used before it is declared a tensor",
                expected=f"{self.name}=... in the call, or {self.name}: T.Tensor[[...], dtype] before T.Kernel",
            ).at(current().location)
        is_number = self.kind is not None and not self.kind.shape
        raise LanguageError(
            f"parameter {self.name!r} is used before it is declared",
            expected=f"{self.name}: T.Tensor[[...], dtype] before T.Kernel",
            hint=f"the call passes an array of no axes: for a value of Python pass a number, such as {self.name}.item()"
            if is_number
            else None,
        )

    expr = __getitem__ = __setitem__ = __call__ = __iter__ = __len__ = __bool__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __neg__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __int__ = __float__ = __index__ = _refuse

    def __hash__(self) -> int:
        return id(self)


class Output(BufferHandle):
    """A T.empty; named by the assignment that it first stands in."""

    def __init__(self, shape: list[Any], dtype: DType, builder: Builder) -> None:
        self._kind = TensorType(tuple(shape), dtype)
        self.lanes = self._kind.lanes
        self._builder = builder
        self._buffer: Any = None
        self.location = builder.location

    @property
    def buffer(self) -> Any:  # type: ignore[override]
        if self._buffer is None:
            self._buffer = tensor_var(self._builder.unique("out"), self._kind)
        return self._buffer

    def name_once(self, builder: Builder, name: str) -> bool:
        if self._buffer is None:
            self._buffer = tensor_var(builder.unique(name), self._kind)
        return True


class Declarations:
    """The parameters and outputs of a function while its body runs.

    names: the parameters that may be declared, in the signature's order. params: those that are, as the IR's
    parameters, by name. outputs: what T.empty made, in order.
    """

    def __init__(self, function: FunctionType, builder: Builder, names: Collection[str]) -> None:
        self.function = function
        self.builder = builder
        self.names = names
        self.params: dict[str, Any] = {}
        self.outputs: list[Output] = []
        builder.on_annotation = self.declare
        builder.on_empty = self.output

    def declare(self, name: str, annotation: Any, old: Any) -> Any:
        """``name: T.Tensor[[...], dtype]`` or ``name: T.int32``; the value that ``name`` has from then on.

        old: the value that it had.
        """
        if name not in self.names:
            raise LanguageError(
                f"`{name}: ...` declares a name that is not a parameter",
                expected=", ".join(self.names),
                hint="tensors in a list or a tuple are not supported: pass each as its own parameter",
            )
        if name in self.params:
            raise LanguageError(f"parameter {name!r} is declared twice", expected="one declaration of it")
        kind = self.resolved(name, annotation)
        if kind is None:
            return old
        self.params[name], value = parameter_of(self.builder, name, kind)
        return value

    def resolved(self, name: str, annotation: Any) -> Any:
        """The type of a declaration; None where the annotation declares no parameter of the kernel."""
        is_type = isinstance(annotation, (TensorType, DType, PtrType)) or annotation in (int, float, bool, PtrType)
        return annotation if is_type else None

    def output(self, shape: list[Any], dtype: DType) -> Output:
        """T.empty: a further parameter, which the call allocates."""
        handle = Output(shape, dtype, self.builder)
        self.outputs.append(handle)
        self.builder.parameters.append(handle)
        return handle

    def parameters(self) -> list[Any]:
        """The declared parameters of the IR, in the signature's order."""
        params = [self.params[name] for name in self.names if name in self.params]
        return [param.declared() if isinstance(param, Pointer) else param for param in params]

    def returned(self, value: Any, place: Location) -> list[Output]:
        """The outputs in the order in which the function returns them. Raises LanguageError where it returns something
        else, or not all of them."""
        values = list(value) if isinstance(value, (tuple, list)) else ([] if value is None else [value])
        handles = [handle for handle in values if any(handle is output for output in self.outputs)]
        if len(handles) < len(values):
            stray = next(handle for handle in values if not any(handle is output for output in self.outputs))
            raise WrongTypeError(
                f"{self.function.__name__} returns a value that is not an output",
                location=place,
                found=repr(stray)[:60],
                expected="tensors made by T.empty",
                hint="a result may be a parameter too: @tilecore.jit(out_idx=[-1]) returns it to the caller",
            )
        if len(handles) != len(self.outputs):
            left = [output for output in self.outputs if not any(output is handle for handle in handles)]
            raise LanguageError(
                f"{self.function.__name__} makes an output with T.empty that it does not return",
                found=f"{', '.join(h.name for h in left)}; returned: {', '.join(h.name for h in handles) or 'nothing'}",
                expected=f"return {', '.join(h.name for h in self.outputs)}",
                hint="T.alloc_global makes memory for one call that is not returned",
                location=left[0].location if left else place,
            )
        return handles


def parameter_of(builder: Builder, name: str, annotation: Any) -> tuple[Var | Pointer, Any]:
    """The IR parameter for an annotation, and what the function's body gets for it."""
    var, value = _parameter_of(builder, name, annotation)
    builder.parameters.append(value)
    return var, value


def _parameter_of(builder: Builder, name: str, annotation: Any) -> tuple[Var | Pointer, Any]:
    if annotation in (int, float, bool):
        annotation = DType(annotation)
    if isinstance(annotation, TensorType):
        buffer = tensor_var(builder.unique(name), annotation)
        if annotation.of_pointers:
            builder.pointers[str(buffer.name)] = "table"
        return buffer, BufferHandle(buffer, annotation.lanes)
    if isinstance(annotation, DType):
        var = Var(builder.unique(name), ir_dtype(annotation))
        return var, var
    if isinstance(annotation, Var):
        builder.unique(str(annotation.name))
        return annotation, annotation
    if isinstance(annotation, PtrType) or annotation is PtrType or str(annotation) == "handle":  # T.handle, too
        pointer = Pointer(builder.unique(name), annotation if isinstance(annotation, PtrType) else PtrType())
        builder.pointers[pointer.name] = "address"
        return pointer, pointer
    if type(annotation).__name__ == "_TensorFactory":
        raise LanguageError(f"parameter {name!r}: {annotation} needs a shape", expected=f"{annotation}(shape, dtype)")
    raise LanguageError(
        f"the annotation of parameter {name!r} is not a type of the language",
        found=repr(annotation)[:80],
        expected="T.Tensor(shape, dtype), T.StridedTensor(shape, strides, dtype), or an element type such as T.int32",
    )

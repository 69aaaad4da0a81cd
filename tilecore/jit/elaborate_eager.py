"""Runs the body of an eager kernel: declarations make its parameters, T.empty its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import getclosurevars
from types import FunctionType
from typing import Any

from tilecore.dtypes import FACTS
from tilecore.dtypes import dtype as DType
from tilecore.errors import ArgumentError, LanguageError, Location
from tilecore.frontend.declarations import Declarations, Undeclared, parameter_of
from tilecore.frontend.elaborate import finish, run
from tilecore.ir.nodes import is_prim_expr
from tilecore.jit import eager_errors
from tilecore.jit.declared_sizes import declared_sizes
from tilecore.jit.eager_call import LEFT_OUT, EagerCall, expanded, takes_any_name
from tilecore.language.annotations import TensorType, is_pointer, row_major_strides
from tilecore.language.symbols import ConstDim, DerivedDim
from tilecore.nearest import did_you_mean
from tilecore.tracing.builder import Builder


@dataclass(frozen=True)
class Elaborated:
    """The kernel of one combination. func: its tile IR. parameters: the names of the parameters that a call passes.
    sizes: the values of the T.const sizes, by name."""

    func: Any
    parameters: tuple[str, ...]
    sizes: Mapping[str, int]


@dataclass(frozen=True)
class _Check:
    """A declared size that is compared with the tensor's size later, when its T.const names have values."""

    size: DerivedDim
    actual: int
    where: str
    location: Location | None


class _Elaboration(Declarations):
    """The parameters of one combination. sizes: the T.const sizes by name, as they are made."""

    def __init__(self, function: FunctionType, call: EagerCall, place: Location) -> None:
        super().__init__(function, Builder(function.__name__), call.types)
        self.types = call.types
        self.constants = dict(call.constants)
        self.place = place
        self.checks: list[_Check] = []
        self.sizes: dict[str, ConstDim] = {}
        self.sources = declared_sizes(function)
        self.builder.on_const = self.constant

    def constant(self, size: ConstDim) -> None:
        """A T.const: it may have its value from the call, by its name or from a tensor."""
        self.sizes[size.name] = size
        if size.name in self.constants:
            size.set_value(self.constants[size.name], f"the argument {size.name}=")
        for source in self.sources.get(size.name, ()):
            argument = self.types.get(source.parameter)
            numbers: Sequence[Any] = ()
            if isinstance(argument, TensorType):
                bits = self._bits_of(source.dtype) if _holds_bytes(argument) else argument.dtype.bits
                numbers = _numbers_of(argument, source.is_stride, bits) if bits else ()
            if source.rank == len(numbers) and not is_prim_expr(numbers[source.axis]):
                size.set_value(int(numbers[source.axis]), _where(source.parameter, source.is_stride, source.axis))

    def _bits_of(self, dtype: str) -> int:
        """The size of the element type of this name, which may be a variable's; 0 where it is not known."""
        names = getclosurevars(self.function)
        value = {**names.globals, **names.nonlocals, **self.types}.get(dtype, dtype)
        if isinstance(value, (str, DType)) and str(value) in FACTS:
            return FACTS[str(value)].bits
        return 0

    def begin(self, annotations: Iterable[Any]) -> None:
        """Reset the T.const sizes of the signature, which all compilations of the function share."""
        shapes = [a.shape + (a.strides or ()) for a in annotations if isinstance(a, TensorType)]
        sizes = [
            leaf for shape in shapes for size in shape if isinstance(size, ConstDim) for leaf in size.named_sizes()
        ]
        for size in {id(size): size for size in sizes}.values():
            size.clear_value()
            self.constant(size)

    def resolved(self, name: str, annotation: Any) -> Any:
        """The type of a declaration, with the sizes of the tensor that the call passes."""
        argument = self.types[name]
        if isinstance(annotation, TensorType):
            if argument is LEFT_OUT:
                self._require(name, annotation)
                return annotation
            if isinstance(argument, TensorType):
                return self._settled(name, annotation, argument)
            raise self._at(eager_errors.not_a_tensor(self.function.__name__, name, annotation, argument))
        if isinstance(argument, TensorType):
            raise LanguageError(f"parameter {name!r} is a tensor", found=repr(annotation), expected="T.Tensor[...]")
        return super().resolved(name, annotation)

    def _at(self, error: ArgumentError) -> ArgumentError:
        """The error, at the declaration that is being read."""
        return error.at(self.builder.location)

    def _require(self, name: str, declared: TensorType) -> None:
        """Of a tensor that was left out, the declaration must say all sizes."""
        for size in (*declared.shape, *(declared.strides or ())):
            if isinstance(size, ConstDim) and not size.is_known:
                raise self._missing_size(name, declared, size)

    def _missing_size(self, name: str, declared: TensorType, size: ConstDim) -> ArgumentError:
        """The error for a size without a value, of a tensor that was left out."""
        example = ", ".join(f"{one}=64" for one in dict.fromkeys(self.sizes))
        unknown = next((one for one in self.constants if one not in self.sizes), None)
        return ArgumentError(
            f"parameter {name!r} was left out, and the value of T.const {size.name!r} is not known",
            location=self.builder.location,
            found=repr(declared),
            expected=f"{name}=... in the call (a tensor, or a T.Tensor type), or each T.const by its name: "
            f"{self.function.__name__}.compile({example})",
            hint=None if unknown is None else did_you_mean(unknown, self.sizes),
        )

    def _settled(self, name: str, declared: TensorType, argument: TensorType) -> TensorType:
        """The declaration, after its T.const sizes got the sizes and strides of the tensor."""
        if len(declared.shape) != len(argument.shape):
            raise self._at(eager_errors.wrong_rank(self.function.__name__, name, declared, argument))
        bits = declared.dtype.bits if _holds_bytes(argument) else argument.dtype.bits
        if bits == argument.dtype.bits and str(declared.dtype.facts.torch) != str(argument.dtype.facts.torch):
            raise self._at(eager_errors.wrong_dtype(self.function.__name__, name, declared, argument))
        shape = self._sizes(name, declared.shape, _numbers_of(argument, False, bits), is_stride=False)
        strides = declared.strides
        if strides is not None:
            strides = self._sizes(name, strides, _numbers_of(argument, True, bits), is_stride=True)
        settled = TensorType(shape, declared.dtype, strides, scope=declared.scope)
        settled.lanes = declared.lanes
        return settled

    def _sizes(self, name: str, declared: Sequence[Any], actual: Sequence[Any], is_stride: bool) -> tuple[Any, ...]:
        """Declared sizes with the tensor's. A size computed from T.const sizes without a value yet takes the tensor's
        size; the end checks it."""
        sizes = list(declared)
        for axis, (size, number) in enumerate(zip(declared, actual, strict=True)):
            where = _where(name, is_stride, axis)
            if isinstance(size, ConstDim):
                if is_prim_expr(number):
                    raise LanguageError(
                        f"{where} is {number}, and T.const {size.name!r} is a number", expected="an int"
                    )
                if isinstance(size, DerivedDim) and not size.is_known:
                    self.checks.append(_Check(size, int(number), where, self.builder.location))
                    sizes[axis] = int(number)
                else:
                    size.set_value(int(number), where)
            elif isinstance(size, int) and size != number and not is_prim_expr(number) and not is_stride:
                error = eager_errors.wrong_size(self.function.__name__, where, number, declared, actual)
                raise self._at(error)
        return tuple(sizes)

    def check(self) -> None:
        """Check the sizes passed by name, and those that could not be compared when they were declared."""
        for name in self.constants:
            if name not in self.sizes and not takes_any_name(self.function):
                raise ArgumentError(
                    f"{self.function.__name__}() has no parameter and no T.const named {name!r}",
                    location=self.place,
                    expected=", ".join([*self.types, *self.sizes]),
                    hint=did_you_mean(name, [*self.types, *self.sizes], "{}"),
                )
        for check in self.checks:
            try:
                check.size.set_value(check.actual, check.where)
            except LanguageError as error:
                raise error.at(check.location) from None


def _holds_bytes(kind: TensorType) -> bool:
    """May elements of fewer bits share the elements of such a tensor?"""
    return kind.dtype in ("int8", "uint8")


def _numbers_of(kind: TensorType, is_stride: bool, bits: int) -> Sequence[Any]:
    """The sizes of a tensor's type, or its strides, in elements of ``bits``. Smaller elements than the tensor's share
    its elements along the last axis."""
    shared = max(1, kind.dtype.bits // bits)
    if not is_stride:
        return (*kind.shape[:-1], kind.shape[-1] * shared) if kind.shape else ()
    strides = kind.strides if kind.strides is not None else row_major_strides(kind.shape)
    return (*(stride * shared for stride in strides[:-1]), *strides[-1:])


def _where(name: str, is_stride: bool, axis: int) -> str:
    return f"{name}.{'strides' if is_stride else 'shape'}[{axis}]"


def elaborate(function: FunctionType, call: EagerCall, annotations: dict[str, Any], place: Location) -> Elaborated:
    """The kernel of a function for a call. Raises LanguageError, and ArgumentError where the call does not fit."""
    work = _Elaboration(function, call, place)
    work.begin(annotations.values())
    types = call.types
    values: dict[str, Any] = {}
    for name, argument in types.items():
        if argument is LEFT_OUT:
            values[name] = Undeclared(name, is_left_out=True)
        elif isinstance(argument, TensorType):
            values[name] = Undeclared(name, argument)
        else:
            values[name] = argument
        if isinstance(annotations.get(name), (TensorType, DType)):
            values[name] = work.declare(name, annotations[name], None)
        if is_pointer(annotations.get(name)):
            work.params[name], values[name] = parameter_of(work.builder, name, annotations[name])
    named = expanded(function, values)
    positional = [named.pop(name) for name in _positional_only(function)]
    outputs = work.returned(run(work.builder, function, positional, named), place)
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
    sizes = {name: size.value for name, size in work.sizes.items() if size.is_known}
    return Elaborated(finish(work.builder, work.parameters(), place, outputs), names, sizes)


def _positional_only(function: FunctionType) -> tuple[str, ...]:
    """The names of the parameters in front of ``/``."""
    return function.__code__.co_varnames[: function.__code__.co_posonlyargcount]

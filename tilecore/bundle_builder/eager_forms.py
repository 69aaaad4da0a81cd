"""The calls that mean the same kernel of an eager function: by its tensors, and by its T.const sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tilecore.artifact.dims import Dim
from tilecore.artifact.records import Artifact, TensorParam
from tilecore.bundles.argument_texts import ANY_SIZE, ANY_VALUE
from tilecore.bundles.format import Argument
from tilecore.jit.eager_call import LEFT_OUT, EagerCall
from tilecore.language.annotations import TensorType, row_major_strides

_BYTES = ("int8", "uint8")  # of tensors whose elements hold several packed ones


def forms_of(
    call: EagerCall, declared: Sequence[Argument], sizes: Mapping[str, int], artifact: Artifact
) -> tuple[tuple[Argument, ...], ...]:
    """The arguments of the calls that mean the compiled kernel of ``call``, each in the order of the function's
    parameters, with the T.const sizes behind them: those with tensors, which need no sizes, and the one with sizes,
    which needs no tensors.

    declared: the arguments of the call as it was declared. sizes: the values of the T.const sizes.
    """
    params = {param.name: param for param in artifact.params}
    tensors = {
        name: param
        for name, param in params.items()
        if isinstance(param, TensorParam) and not param.pointer and name in call.types
    }
    by_name = {argument.name: argument for argument in declared}
    values: dict[str, Argument] = {}
    for name in call.types:
        if name in params and name not in tensors:
            values[name] = Argument(name, ANY_VALUE, True)  # a number or an address that each launch gives
        elif name in by_name:
            values[name] = by_name[name]
    of_sizes = [Argument(name, repr(size), False) for name, size in sizes.items() if name not in call.types]

    def form(is_by_tensors: bool, element: str | None = None) -> tuple[Argument, ...]:
        arguments = [
            Argument(name, _text_of(tensors[name], element), not is_by_tensors) if name in tensors else values[name]
            for name in call.types
            if name in tensors or name in values
        ]
        return (*arguments, *(replace(size, default=is_by_tensors) for size in of_sizes))

    elements = (None, *_BYTES) if any(param.packed > 1 for param in tensors.values()) else (None,)
    return (*(form(True, element) for element in elements), form(False))


def with_tensors(call: EagerCall, artifact: Artifact) -> EagerCall | None:
    """The call as programs make it, with contiguous tensors in place of sizes; None where a size is not known."""
    tensors = {}
    for number, param in enumerate(artifact.params):
        if isinstance(param, TensorParam) and number not in artifact.out_idx:
            if param.strides is not None or not all(isinstance(size, int) for size in param.shape):
                return None
            tensors[param.name] = TensorType(tuple(int(str(size)) for size in param.shape), _dtype(param.dtype), None)
    types = {name: tensors.get(name, kind) if kind is LEFT_OUT else kind for name, kind in call.types.items()}
    return EagerCall(types) if tensors and LEFT_OUT not in types.values() else None


def _text_of(param: TensorParam, element: str | None) -> str:
    """The text of the tensors that a call passes, as :mod:`tilecore.bundles.argument_texts` writes it. element: the
    type of the elements that hold packed ones; None: packed ones are counted one by one."""
    shape, strides, dtype = list(param.shape), param.strides, param.dtype
    if element is not None and param.packed > 1 and shape:
        dtype, shape[-1] = element, _divided(shape[-1], param.packed)
        strides = None if strides is None else (*(_divided(step, param.packed) for step in strides[:-1]), strides[-1])
    text = f"{dtype}[{', '.join(map(_size, shape))}]"
    if strides is None or (all(isinstance(size, int) for size in shape) and strides == row_major_strides(tuple(shape))):
        return text
    return f"{text} strides [{', '.join(map(_size, strides))}]"


def _divided(size: Dim, packed: int) -> Dim:
    return -(-size // packed) if isinstance(size, int) else size


def _size(size: Dim) -> str:
    return str(size) if isinstance(size, int) else ANY_SIZE


def _dtype(name: str) -> Any:
    from tilecore.dtypes import dtype

    return dtype(name)

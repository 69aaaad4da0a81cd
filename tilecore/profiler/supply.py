"""Makes tensors to run a kernel on, with values of a chosen kind."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import prod
from typing import TYPE_CHECKING, Any

from tilecore.artifact.dims import Dim, DimExpr, evaluate
from tilecore.artifact.records import Artifact, Param, ScalarParam, TensorParam
from tilecore.dtypes import FACTS, Facts
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.nearest import did_you_mean

if TYPE_CHECKING:
    from tilecore.contract.adapter import KernelAdapter


class TensorSupplyType(Enum):
    """What tensors are filled with.

    Integer: small whole numbers, -2 to 2 (0 to 2 when unsigned), in floats too. Uniform: -1 to 1. Normal: normal
    distribution around -1 with deviation 1. Randn: the same around 0. Zero, One. Auto: Uniform for floats, Integer for
    the rest. Integers are filled as by Integer for the random ones, bools with False and True.
    """

    Integer = 1
    Uniform = 2
    Normal = 3
    Randn = 4
    Zero = 5
    One = 6
    Auto = 7


def known_sizes(artifact: Artifact, constraints: Mapping[str, int] | None) -> dict[str, int]:
    """The values of the kernel's symbols; raises ArgumentError where some are not given, or a name is unknown."""
    sizes = {str(getattr(name, "name", name)): int(value) for name, value in (constraints or {}).items()}

    def example(names: Sequence[str]) -> str:
        return f"dynamic_symbolic_constraints={json.dumps(dict.fromkeys(names, 1024))}"

    check_names(artifact, sizes, artifact.name, example)
    return sizes


def check_names(
    artifact: Artifact, given: Mapping[str, Any], subject: str, example: Callable[[Sequence[str]], str]
) -> None:
    """Raises ArgumentError for a name that is neither a size of the call nor a scalar, and for sizes without a value.

    subject: what the message begins with. example: how these sizes are given.
    """
    symbols = [symbol.name for symbol in artifact.symbols]
    scalars = [param.name for param in artifact.params if isinstance(param, ScalarParam)]
    unknown = [name for name in given if name not in symbols and name not in scalars]
    missing = [name for name in symbols if name not in given]
    if not unknown and not missing:
        return
    expected = example(missing or symbols) if symbols else "no sizes: all are fixed"
    raise ArgumentError(
        f"{subject}: there is no size {', '.join(unknown)}"
        if unknown
        else f"{subject}: its sizes {', '.join(missing)} are known only at a call",
        found=f"values of {', '.join(given)}" if given else None,
        expected=f"{expected}; scalars may be given, too: {', '.join(scalars)}" if scalars else expected,
        hint=did_you_mean(unknown[0], [*symbols, *scalars]) if unknown else None,
    )


def sizes_of(artifact: Artifact, inputs: Sequence[Any]) -> dict[str, int]:
    """The values of the kernel's symbols, read from the arguments of a call; 1 for those that stand in outputs only."""
    arguments = iter(inputs)
    values = [None if i in artifact.out_idx else next(arguments) for i in range(len(artifact.params))]
    sizes = {}
    for symbol in artifact.symbols:
        kind, param, axis = symbol.source
        value = values[param]
        if kind == "scalar" and value is not None:
            size = int(value)
        elif value is None or kind != "shape":
            size = symbol.scale + symbol.offset
        else:
            size = int(value.shape[axis])
        sizes[symbol.name] = (size - symbol.offset) // symbol.scale
    return sizes


def supply(
    param: Param, adapter: KernelAdapter, sizes: Mapping[str, int], kind: TensorSupplyType, device_index: int = 0
) -> Any:
    """A tensor where the adapter's kernels can use it, or a number.

    sizes: of the symbols and integer scalar parameters. Raises ArgumentError when an integer scalar is not among them.
    """
    if isinstance(param, ScalarParam):
        return _scalar(param, sizes)
    tensor = allocate(param, adapter, sizes, device_index)
    fill(tensor, param, kind)
    return tensor


def allocate(param: TensorParam, adapter: KernelAdapter, sizes: Mapping[str, int], device_index: int = 0) -> Any:
    """An uninitialised tensor for a parameter, with its strides."""
    shape = tuple(_size(dim, sizes) for dim in param.shape)
    if param.packed > 1:
        shape = (*shape[:-1], -(-shape[-1] // param.packed))
    if param.strides is None:
        return adapter.empty(shape, param.dtype, device_index)
    strides = tuple(_size(dim, sizes) for dim in param.strides)
    if param.packed > 1:
        strides = (*(stride // param.packed for stride in strides[:-1]), 1)
    if prod(shape) == 0:
        return adapter.empty(shape, param.dtype, device_index)
    reach = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    return strided(adapter.empty((reach,), param.dtype, device_index), shape, strides)


def _size(dim: Dim, sizes: Mapping[str, int]) -> int:
    if isinstance(dim, DimExpr):
        missing = dim.names() - set(sizes)
        if missing:
            raise ArgumentError(f"the size {dim} is not known", expected=f"values of {', '.join(sorted(missing))}")
    return evaluate(dim, sizes)


def strided(memory: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    if hasattr(memory, "as_strided"):
        return memory.as_strided(shape, strides)
    import numpy

    if isinstance(memory, numpy.ndarray):
        return numpy.lib.stride_tricks.as_strided(memory, shape, [stride * memory.itemsize for stride in strides])
    raise UnsupportedError(f"a {type(memory).__name__} with strides of its own cannot be made")


def _scalar(param: ScalarParam, sizes: Mapping[str, int]) -> int | float:
    if param.name in sizes:
        return sizes[param.name]
    if FACTS[param.dtype].kind == "float":
        return 1.0
    raise ArgumentError(
        f"the value of the parameter {param.name} must be given",
        expected=f'dynamic_symbolic_constraints={{"{param.name}": ...}}, or input_tensors',
    )


def fill(tensor: Any, param: TensorParam, kind: TensorSupplyType) -> None:
    """Overwrite ``tensor`` with values of ``kind``. torch's and numpy's random state decide them."""
    torch = sys.modules.get("torch")
    is_scale = FACTS[param.dtype].is_scale  # without a sign: powers of two
    if torch is not None and isinstance(tensor, torch.Tensor):
        drawn = _torch_values(torch, tuple(tensor.shape), param, kind, tensor.device)
        tensor.copy_(drawn.abs() if is_scale else drawn)
        return
    import numpy

    if not isinstance(tensor, numpy.ndarray):
        raise UnsupportedError(f"a {type(tensor).__name__} cannot be filled", hint="pass input_tensors")
    drawn = _numpy_values(numpy, tensor.shape, param, kind)
    tensor[...] = (numpy.maximum(numpy.abs(drawn), 2.0**-127) if is_scale else drawn).astype(tensor.dtype)


def _range(facts: Facts) -> tuple[int, int]:
    """The range of the small integers: the least, and one past the greatest."""
    if facts.kind == "bool":
        return 0, 2
    return (0, 3) if facts.kind == "uint" else (-2, 3)


def _resolved(facts: Facts, kind: TensorSupplyType) -> TensorSupplyType:
    if kind in (TensorSupplyType.Zero, TensorSupplyType.One):
        return kind
    if facts.kind != "float":
        return TensorSupplyType.Integer
    return TensorSupplyType.Uniform if kind is TensorSupplyType.Auto else kind


def _numpy_values(numpy: Any, shape: tuple[int, ...], param: TensorParam, kind: TensorSupplyType) -> Any:
    facts = FACTS[param.dtype]
    kind = _resolved(facts, kind)
    # seeded from the global state, so that numpy.random.seed decides
    random = numpy.random.default_rng(numpy.random.randint(0, 2**31, 4))
    if param.packed > 1:
        whole = [_numpy_values(numpy, shape, _unpacked(param), kind) for _ in range(2)]
        low, high = (_half_byte(values, facts).astype(numpy.int32) & 15 for values in whole)
        return (low | (high << 4)).astype(numpy.uint8)
    if kind is TensorSupplyType.Zero:
        return numpy.zeros(shape, numpy.float32)
    if kind is TensorSupplyType.One:
        return numpy.ones(shape, numpy.float32)
    if kind is TensorSupplyType.Integer:
        return random.integers(*_range(facts), shape)
    wide = numpy.float64 if facts.bits == 64 else numpy.float32
    if kind is TensorSupplyType.Uniform:
        return random.random(shape, wide) * 2 - 1
    values = random.standard_normal(shape, wide)
    return values - 1 if kind is TensorSupplyType.Normal else values


def _torch_values(torch: Any, shape: tuple[int, ...], param: TensorParam, kind: TensorSupplyType, device: Any) -> Any:
    facts = FACTS[param.dtype]
    kind = _resolved(facts, kind)
    if param.packed > 1:
        whole = [_torch_values(torch, shape, _unpacked(param), kind, device) for _ in range(2)]
        low, high = (_half_byte(values, facts).to(torch.int32) & 15 for values in whole)
        return (low | (high << 4)).to(torch.uint8).view(getattr(torch, str(facts.torch)))
    wide = torch.float64 if param.dtype == "float64" else torch.float32  # some devices have no float64
    if kind is TensorSupplyType.Zero:
        return torch.zeros(shape, dtype=wide, device=device)
    if kind is TensorSupplyType.One:
        return torch.ones(shape, dtype=wide, device=device)
    if kind is TensorSupplyType.Integer:
        return torch.randint(*_range(facts), shape, device=device)
    values = torch.empty(shape, dtype=wide, device=device)
    if kind is TensorSupplyType.Uniform:
        return values.uniform_(-1, 1)
    return values.normal_(-1 if kind is TensorSupplyType.Normal else 0, 1)


def _half_byte(values: Any, facts: Facts) -> Any:
    """Numbers of a 4-bit type as their bits, in the low half of integers; of a float the nearest value's."""
    if facts.kind != "float":
        return values
    middles = (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0)  # between the sizes 0, 0.5, 1, 1.5, 2, 3, 4 and 6
    return sum(abs(values) > middle for middle in middles) + 8 * (values < 0)


def _unpacked(param: TensorParam) -> TensorParam:
    return TensorParam(param.name, param.dtype, param.shape)

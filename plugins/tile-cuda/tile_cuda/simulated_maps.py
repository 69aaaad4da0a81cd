"""Tensor maps on the simulated device: the words of tc_tensor_map in simulated_tensor.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tile_cuda.launch.tensor_maps import MAX_RANK, TensorMap
from tilecore.artifact.dims import evaluate
from tilecore.errors import LaunchError
from tilecore.simulate.arguments import Record, Tensor


def simulated_map(
    made: TensorMap, arguments: Sequence[Tensor | int], symbols: Mapping[str, int], kernel: str
) -> Record:
    """The map of one call, from what the launcher makes it of. Raises LaunchError where the driver would refuse it."""
    tensor = arguments[made.slot]
    if not isinstance(tensor, Tensor):
        raise LaunchError(f"{kernel}: a tensor map is of a tensor", found=f"slot {made.slot}, a number")
    offset = evaluate(made.offset, symbols)
    shape = tuple(evaluate(size, symbols) for size in made.shape)
    strides = tuple(evaluate(size, symbols) for size in made.strides)
    wrong = made.fault_of_call(tensor.address + offset, shape, strides)
    if wrong:
        raise LaunchError(
            f"{kernel}: no tensor map can be made of {made.name or tensor.name}: {wrong[0]}", expected=wrong[1]
        )
    dtype, _, swizzle, _, fill = made.codes
    sizes = _padded(shape, MAX_RANK) + _padded(strides, MAX_RANK - 1)
    box = _padded(made.box, MAX_RANK) + _padded(made.steps, MAX_RANK)
    return Record(((tensor, offset), *sizes, *box, made.rank, dtype, swizzle, fill))


def _padded(sizes: Sequence[int], count: int) -> tuple[int, ...]:
    return (*sizes, *(1 for _ in range(count - len(sizes))))

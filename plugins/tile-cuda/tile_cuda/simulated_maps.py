"""Tensor maps on the simulated device; they have the fields of tc_tensor_map in simulated_tensor.h."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tile_cuda.launch.tensor_maps import MAX_RANK, TensorMap
from tilecore.artifact.dims import evaluate
from tilecore.errors import LaunchError
from tilecore.simulate.arguments import Record, Tensor


def simulated_map(
    tensor_map: TensorMap, arguments: Sequence[Tensor | int], symbols: Mapping[str, int], kernel: str
) -> Record:
    """The tensor map for one launch. Raises LaunchError where the driver would refuse it."""
    tensor = arguments[tensor_map.slot]
    if not isinstance(tensor, Tensor):
        raise LaunchError(
            f"{kernel}: a tensor map describes a tensor",
            found=f"slot {tensor_map.slot}, which is a number",
            expected="a tensor",
        )
    offset = evaluate(tensor_map.offset, symbols)
    shape = tuple(evaluate(size, symbols) for size in tensor_map.shape)
    strides = tuple(evaluate(size, symbols) for size in tensor_map.strides)
    fault = tensor_map.fault_of_call(tensor.address + offset, shape, strides)
    if fault:
        raise LaunchError(
            f"{kernel}: no tensor map can describe {tensor_map.name or tensor.name}: {fault[0]}",
            expected=fault[1],
            hint="pass t.contiguous() or t.clone() instead of a view",
        )
    dtype, _, swizzle, _, fill = tensor_map.codes
    sizes = _padded(shape, MAX_RANK) + _padded(strides, MAX_RANK - 1)
    box = _padded(tensor_map.box, MAX_RANK) + _padded(tensor_map.steps, MAX_RANK)
    return Record(((tensor, offset), *sizes, *box, tensor_map.rank, dtype, swizzle, fill))


def _padded(sizes: Sequence[int], count: int) -> tuple[int, ...]:
    return (*sizes, *(1 for _ in range(count - len(sizes))))

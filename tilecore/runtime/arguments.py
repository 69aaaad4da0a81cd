"""Checks the arguments of a call: defines which arguments a kernel takes.

The built launcher makes the same checks in C for simple cases and calls :func:`bind` for all others, so it may accept
less than :func:`bind` does, never more.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tilecore.artifact.bounded_sizes import size_and_limit
from tilecore.artifact.dims import Dim, DimExpr, evaluate
from tilecore.artifact.records import TensorParam, Workspace
from tilecore.contract.adapter import INTERPRETED, KernelAdapter
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.runtime import argument_errors as errors
from tilecore.runtime import size_errors
from tilecore.runtime.call_plan import BoundSymbol, CallPlan, other_source, storage_dtypes
from tilecore.runtime.gradient_warning import warn_of_gradient
from tilecore.runtime.index_limits import LARGEST, extent_of, has_sizes_of_call
from tilecore.runtime.scalars import UnfitScalar, slot_of
from tilecore.tensors import torch_state
from tilecore.tensors.dlpack import HOST, HOST_KINDS, contiguous_strides
from tilecore.tensors.libraries import importer, is_traced, namespace_of
from tilecore.tensors.memory_overlap import overlap, overlapping_axis
from tilecore.tensors.reachable import Block, block_at
from tilecore.tensors.views import TensorView, UnreadableTensor, empty, empty_array, is_array, is_tensor, view

if TYPE_CHECKING:
    from tilecore.runtime.workspaces import Workspaces

WORD = range(-(2**63), 2**63)
_NUMBERS = (bool, int, float)


@dataclass
class BoundCall:
    """A call that passed all checks.

    slots, grids: int64 arrays as LoadedKernel describes them; the sizes follow the slots.
    device: index of the tensors' device, 0 for the host. stream: the adapter's stream, 0 without streams.
    blocks: number of blocks of all entries. work: upper bound of their time in nanoseconds, -1 when there is none.
    results: the tensors that the call allocated. owners: objects that must live until the launch has returned. written:
    torch tensors among the arguments that the kernel writes. tensors: the tensors, outputs among them, and the
    workspaces, in the order of their slots. convert: makes results arrays of the caller's library.
    """

    slots: Any
    grids: Any
    device: int
    stream: int
    blocks: int
    work: int
    results: list[Any]
    owners: list[Any]
    written: list[Any]
    tensors: tuple[Any, ...]
    convert: Callable[[Any], Any] | None = None

    def returned(self) -> Any:
        """What the call returns: nothing, one tensor, or a list of several, of the caller's library."""
        results = self.results if self.convert is None else list(map(self.convert, self.results))
        if not results:
            return None
        return results[0] if len(results) == 1 else results


class Binder:
    """Checks the arguments of one call, step by step."""

    def __init__(self, plan: CallPlan, adapter: KernelAdapter, has_streams: bool) -> None:
        self.plan = plan
        self.adapter = adapter
        self.has_streams = has_streams
        self.views: dict[int, TensorView] = {}
        self.scalars: dict[int, int] = {}
        self.addresses: dict[int, int] = {}  # of parameters that were given as numbers, or as None: 0
        self.symbols: dict[str, int] = {}
        self.unknown: set[str] = set()  # symbols of tensors that are not passed; they count as 0
        self.results: list[Any] = []
        self.convert: Callable[[Any], Any] | None = None  # to the library of the caller's arrays

    @property
    def device_index(self) -> int:
        return next((v.device[1] for v in self.views.values() if v.device[0] not in HOST_KINDS), 0)

    def stream(self, device_index: int) -> int:
        return self.adapter.current_stream(device_index) if self.has_streams else 0

    def read(self, args: Sequence[Any]) -> None:
        """Read every argument. Raises LaunchError where torch records operations and may record an argument's, and for
        an argument of a program of jax that is being traced."""
        recorder = torch_state.recorder()
        if recorder and not all(isinstance(value, _NUMBERS) or is_array(value) for value in args):
            raise errors.recorded(self.plan, recorder)
        traced = next((number for number, value in enumerate(args) if is_traced(value)), None)
        if traced is not None:
            raise errors.traced(self.plan, self.plan.argument_names[traced], args[traced])
        for param, value in zip(self.plan.inputs, args, strict=True):
            if isinstance(self.plan.params[param], TensorParam):
                self._read_tensor(param, value)
            else:
                self._read_scalar(param, value)

    def _read_scalar(self, param: int, value: Any) -> None:
        declared = self.plan.params[param]
        if not self.plan.writes_floats and getattr(value, "requires_grad", False):
            value = value.detach()  # nothing that the kernel computes has a gradient
        try:
            self.scalars[param] = slot_of(value, declared.dtype)
        except UnfitScalar as unfit:
            raise errors.scalar(self.plan, declared, value, unfit) from None

    def _read_tensor(self, param: int, value: Any) -> None:
        declared = self.plan.tensor(param)
        if value is None and declared.needed != 1:
            self.addresses[param] = 0
            return
        if declared.pointer == "address" and isinstance(value, int) and not isinstance(value, bool):
            if not 0 <= value < 2**64 or value % declared.align:
                raise errors.misplaced_address(self.plan, declared, value)
            self.addresses[param] = value
            return
        try:
            tensor = view(value, self.stream) if is_tensor(value) else self._foreign(value)
        except UnreadableTensor as unreadable:
            raise errors.unreadable(self.plan, declared, unreadable) from unreadable.__cause__
        if tensor is None:
            raise errors.not_a_tensor(self.plan, declared, value)
        self._check_kind(param, declared, tensor)
        self._check_device(param, tensor)
        if self.plan.writes_floats and tensor.loses_gradient:
            warn_of_gradient(self.plan, declared)
        self.views[param] = tensor

    def _foreign(self, value: Any) -> TensorView | None:
        """The tensor that an object describes by a protocol of the device; None where it describes none."""
        try:
            found = self.adapter.foreign_tensor(value, self.stream)
        except UnsupportedError as error:
            facts = f" ({error.found})" if error.found else ""
            raise UnreadableTensor(f"{error.message}{facts}", error.hint) from error
        if found is None:
            return None
        return TensorView(
            found.address, found.shape, found.strides, found.dtype, found.device, "dlpack", value,
            found.owner, found.read_only,
        )  # fmt: skip

    def _check_kind(self, param: int, declared: TensorParam, tensor: TensorView) -> None:
        if tensor.dtype not in self.plan.element_types[param]:
            raise errors.dtype(self.plan, declared, tensor)
        if len(tensor.shape) != len(declared.shape):
            raise errors.rank(self.plan, declared, tensor)
        if declared.packed > 1 and tensor.shape[-1] > 1 and tensor.strides[-1] != 1 and tensor.elements:
            raise errors.packed_stride(self.plan, declared, tensor)

    def _check_device(self, param: int, tensor: TensorView) -> None:
        kind, index = tensor.device
        on_host = kind in HOST_KINDS and (self.plan.device_type == HOST or self.adapter.host_tensors)
        if kind != self.plan.device_type and not on_host:
            raise errors.device(self.plan, self.plan.params[param].name, tensor, self.adapter.torch_device(0))
        for other, seen in self.views.items():
            if kind not in HOST_KINDS and seen.device[1] != index:
                raise errors.devices_differ(
                    self.plan, self.plan.params[other].name, seen, self.plan.params[param].name, tensor
                )

    def bind_symbols(self) -> None:
        for symbol in self.plan.symbols:
            if symbol.kind != "scalar" and symbol.param in self.addresses:
                other = other_source(self.plan, symbol, self.views)
                self.symbols[symbol.name] = 0 if other is None else self._value_of(other)
                if other is None:
                    self.unknown.add(symbol.name)
            else:
                self.symbols[symbol.name] = self._value_of(symbol)

    def place_addresses(self) -> None:
        """Make views of the tensors that were given as addresses. Raises ArgumentError for a null pointer to a tensor
        that the kernel accesses in this call."""
        scalars = {self.plan.params[param].name: value for param, value in self.scalars.items()}
        for param, address in self.addresses.items():
            declared = self.plan.tensor(param)
            if not address:
                if evaluate(declared.needed, {**scalars, **self.symbols}):
                    raise errors.needed(self.plan, declared)
                continue
            shape = tuple(self.size(dim, "{}.shape[{}]", declared.name, at) for at, dim in enumerate(declared.shape))
            strides = contiguous_strides(shape)
            if declared.strides is not None:
                strides = tuple(
                    self.size(dim, "{}.stride[{}]", declared.name, at) for at, dim in enumerate(declared.strides)
                )
            tensor = TensorView(
                address, shape, strides, self.plan.element_types[param][0], (self.plan.device_type, self.device_index),
                "address", address, None,
            )  # fmt: skip
            self.views[param] = tensor if not self._knows_memory() else self._found(declared, tensor)

    def _knows_memory(self) -> bool:
        """Is it known whose memory an address is that of? Where the host runs the kernel with checks."""
        return self.adapter.simulates or self.adapter.name == INTERPRETED

    def _found(self, declared: TensorParam, tensor: TensorView) -> TensorView:
        begin, end = tensor.span()
        block = block_at(tensor.address, [Block(*v.span(), v.read_only, v.owner) for v in self.views.values()])
        if end > begin and (block is None or begin < block.begin or end > block.end):
            raise errors.unknown_address(self.plan, declared, tensor.address, end - begin)
        return replace(tensor, owner=block.owner, read_only=block.read_only) if block is not None else tensor

    def _value_of(self, symbol: BoundSymbol) -> int:
        size = self._size_at(symbol)
        value, remainder = divmod(size - symbol.offset, symbol.scale)
        if remainder:
            raise size_errors.not_linear(self.plan, symbol, size)
        if not symbol.low <= value <= symbol.high:
            raise size_errors.symbol_range(self.plan, symbol, size, value)
        return value

    def _size_at(self, symbol: BoundSymbol) -> int:
        if symbol.kind == "scalar":
            value = self.scalars[symbol.param]
            return value % 2**64 if self.plan.params[symbol.param].dtype == "uint64" else value
        declared, tensor = self.plan.tensor(symbol.param), self.views[symbol.param]
        sizes = logical_shape(declared, tensor) if symbol.kind == "shape" else logical_strides(declared, tensor)
        return sizes[symbol.axis]

    def size(self, dim: Dim, place: str, *parts: Any) -> int:
        """The value of ``dim`` for this call's symbols. ``place.format(*parts)`` names it in the error without one."""
        try:
            value = evaluate(dim, self.symbols)
            problem = None if value in WORD else f"{value}, which does not fit 64 bits"
        except ZeroDivisionError:
            value, problem = 0, "a division by zero"
        if problem:
            raise size_errors.no_size(self.plan, place.format(*parts), dim, self.symbols, problem)
        return value

    def make_outputs(self) -> None:
        """Allocate the outputs: numpy arrays where all arguments are arrays, else with the adapter's ``empty``. They
        become arrays of the library that all arguments are of, where the array API has it."""
        arrays = makes_arrays(self.adapter, self.plan.device_type)
        arrays = arrays and {view.library for view in self.views.values()} == {"numpy"}
        if {view.library for view in self.views.values()} == {"dlpack"}:
            namespace = namespace_of(view.tensor for view in self.views.values())
            self.convert = None if namespace is None else importer(namespace)
        on_host = self.adapter.host_tensors and {view.device[0] for view in self.views.values()} <= set(HOST_KINDS)
        for param in self.plan.outputs:
            declared = self.plan.tensor(param)
            shape = [self.size(d, "the shape of {}", declared.name) for d in declared.shape]
            if any(size < 0 for size in shape):
                raise size_errors.negative_output(self.plan, declared, shape, self.symbols)
            if declared.packed > 1:
                if shape[-1] % declared.packed:
                    raise size_errors.odd_packed_output(self.plan, declared, shape)
                shape[-1] //= declared.packed
            dtype = storage_dtypes(declared)[0]
            if arrays:
                tensor = empty_array(tuple(shape), dtype)
            elif on_host and self.views:
                tensor = empty(tuple(shape), dtype)
            else:
                tensor = self.adapter.empty(tuple(shape), dtype, self.device_index)
            self.results.append(tensor)
            self._read_output(param, tensor, tuple(shape))

    def _read_output(self, param: int, tensor: Any, shape: tuple[int, ...]) -> None:
        """Read the tensor from the adapter's ``empty``. A wrong one is an error of the adapter, not of the caller."""
        declared = self.plan.tensor(param)
        try:
            self._read_tensor(param, tensor)
        except ArgumentError as error:
            raise errors.wrong_output(self.plan, declared, self.adapter, error.found or error.message) from error
        if self.views[param].shape != shape:
            raise errors.wrong_output(self.plan, declared, self.adapter, f"shape {self.views[param].shape}", shape)

    def check_tensors(self) -> None:
        for param in self.given:
            self._check_tensor(self.plan.tensor(param), self.views[param])
        self._check_overlap()
        if self.plan.index_bits == 32:
            self._check_indices()

    def _check_indices(self) -> None:
        """No index of a tensor or a workspace has more than 32 bits."""
        memories: list[TensorParam | Workspace] = [*map(self.plan.tensor, self.plan.tensors), *self.plan.workspaces]
        for memory in filter(has_sizes_of_call, memories):
            extent = evaluate(extent_of(memory), self.symbols)
            if extent > LARGEST:
                raise size_errors.index_range(self.plan, memory, extent, self.symbols)

    def check_assumptions(self) -> None:
        for assumption in self.plan.assumptions:
            condition = assumption.condition
            if isinstance(condition, DimExpr) and condition.names() & self.unknown:
                continue
            if not evaluate(condition, self.symbols):
                raise size_errors.broken_assumption(self.plan, assumption, self.symbols)

    def _check_tensor(self, declared: TensorParam, tensor: TensorView) -> None:
        shape = logical_shape(declared, tensor)
        for axis, dim in enumerate(declared.shape):
            expected = self.size(dim, "{}.shape[{}]", declared.name, axis)
            if shape[axis] != expected:
                raise size_errors.shape(self.plan, declared, tensor, axis, shape[axis], expected, self.symbols)
        if "w" in declared.access and tensor.read_only:
            raise errors.read_only(self.plan, declared, tensor)
        if tensor.elements == 0:
            return
        if not tensor.address:
            raise errors.no_memory(self.plan, declared)
        if (tensor.address - tensor.buffer) % declared.align:
            raise errors.alignment(self.plan, declared, tensor)
        self._check_strides(declared, tensor)
        if tensor.is_negated:
            raise errors.negated(self.plan, declared)

    def _check_strides(self, declared: TensorParam, tensor: TensorView) -> None:
        if declared.strides is None:
            if not tensor.is_contiguous:
                raise errors.not_contiguous(self.plan, declared, tensor)
            return
        strides = logical_strides(declared, tensor)
        for axis, dim in enumerate(declared.strides):
            if tensor.shape[axis] == 1:
                continue
            expected = self.size(dim, "{}.stride[{}]", declared.name, axis)
            if strides[axis] != expected:
                raise size_errors.stride(self.plan, declared, tensor, axis, strides[axis], expected, self.symbols)
        shared = overlapping_axis(tensor) if "w" in declared.access else None
        if shared is not None:
            raise errors.self_overlap(self.plan, declared, tensor, shared)

    def _check_overlap(self) -> None:
        tensors = [(self.plan.tensor(p), self.views[p]) for p in self.given]
        for index, (declared, tensor) in enumerate(tensors):
            if "w" not in declared.access:
                continue
            for other_index, (other, other_tensor) in enumerate(tensors):
                if other_index == index:
                    continue
                shared = overlap(tensor, other_tensor)
                if shared == "part" or (shared == "same" and "w" in other.access):
                    raise errors.overlapping(self.plan, declared, other, shared)

    @property
    def given(self) -> list[int]:
        """The tensor parameters that have memory: all but those for which the call passed None."""
        return [param for param in self.plan.tensors if param in self.views]

    def written(self) -> list[Any]:
        """The torch tensors among the arguments that the kernel writes."""
        passed = [(self.plan.tensor(p), self.views[p]) for p in self.given if p not in self.plan.outputs]
        return [tensor.tensor for declared, tensor in passed if "w" in declared.access and tensor.library == "torch"]

    def grids(self) -> tuple[list[int], int, int]:
        """(x, y, z and shared bytes of every entry; number of all blocks; upper bound of their time in ns, or -1)."""
        values: list[int] = []
        blocks = work = 0
        for entry in self.plan.launched:
            sizes = [self.size(dim, "grid {} of {}", "xyz"[axis], entry.symbol) for axis, dim in enumerate(entry.grid)]
            shared = self.size(entry.shared_bytes, "the shared memory of {}", entry.symbol)
            bounded = size_and_limit(entry.shared_bytes) if shared < 0 else None
            if bounded is not None:
                raise size_errors.shared(self.plan, entry, evaluate(bounded[0], self.symbols), bounded[1], self.symbols)
            entry_blocks = sizes[0] * sizes[1] * sizes[2]
            if min(sizes) < 0 or shared < 0 or blocks + entry_blocks not in WORD:
                raise size_errors.grid(self.plan, entry, sizes, shared, self.symbols)
            values += (*sizes, shared)
            blocks += entry_blocks
            if entry_blocks:
                work = work + entry_blocks * entry.longest if entry.longest and work >= 0 else -1
        return values, blocks, work if work in WORD else -1


def bind(
    plan: CallPlan, args: Sequence[Any], adapter: KernelAdapter, workspaces: Workspaces, has_streams: bool
) -> BoundCall:
    """Check ``args`` and write them into slots. Raises ArgumentError, LaunchError."""
    if len(args) != len(plan.inputs):
        raise errors.count(plan, len(args))
    binder = Binder(plan, adapter, has_streams)
    binder.read(args)
    binder.bind_symbols()
    binder.place_addresses()
    binder.make_outputs()
    binder.check_tensors()
    binder.check_assumptions()
    grids, blocks, work = binder.grids()
    index = binder.device_index
    stream = binder.stream(index)
    addresses, owners = workspaces.get(binder.symbols, index, stream) if plan.workspaces else ((), [])
    slots = [
        *(_signed(binder.views[p].address) if p in binder.views else 0 for p in plan.tensors),
        *map(_signed, addresses),
        *(binder.scalars[p] for p in plan.scalars),
        *(binder.symbols[s.name] for s in plan.symbols),
        *(binder.size(dim, "a size of the launch of {}", plan.name) for dim in plan.sizes),
    ]
    owners_of_call = [*owners, *(v.owner for v in binder.views.values())]
    return BoundCall(
        _words(slots), _words(grids), index, stream, blocks, work, binder.results, owners_of_call, binder.written(),
        (*(binder.views[p].tensor if p in binder.views else None for p in plan.tensors), *owners), binder.convert,
    )  # fmt: skip


def makes_arrays(adapter: KernelAdapter, device_type: int) -> bool:
    """Whether outputs may be numpy arrays: on the host where the adapter does not override ``empty``, and where it
    takes the host's tensors beside those of its device."""
    if adapter.host_tensors:
        return True
    return device_type == HOST and makes_plainly(adapter)


def makes_plainly(adapter: KernelAdapter) -> bool:
    """Whether outputs are what the contract's ``empty`` makes, as the adapter does not override it."""
    return getattr(adapter.empty, "__func__", None) is KernelAdapter.empty


def by_position(plan: CallPlan, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[Any, ...]:
    """``args`` completed by ``keywords``, in the order of the parameters. Raises ArgumentError."""
    names = plan.argument_names
    if len(args) > len(names):
        raise errors.count(plan, len(args) + len(keywords))
    values = dict(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name not in names:
            raise errors.unknown_name(plan, name)
        if name in values:
            raise ArgumentError(
                f"{plan.name}() got two values for {name}", hint=f"pass {name} by position or by name, not both"
            )
        values[name] = value
    missing = [name for name in names if name not in values]
    if missing:
        raise ArgumentError(
            f"{plan.name}() takes {len(names)} arguments ({', '.join(names)}), {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing"
        )
    return tuple(values[name] for name in names)


def logical_shape(declared: TensorParam, tensor: TensorView) -> tuple[int, ...]:
    """The shape as the kernel sees it: the last axis of packed storage counts its elements."""
    if declared.packed == 1:
        return tensor.shape
    return (*tensor.shape[:-1], tensor.shape[-1] * declared.packed)


def logical_strides(declared: TensorParam, tensor: TensorView) -> tuple[int, ...]:
    """The strides as the kernel sees them, in elements."""
    if declared.packed == 1:
        return tensor.strides
    return (*(stride * declared.packed for stride in tensor.strides[:-1]), tensor.strides[-1])


def _signed(address: int) -> int:
    return address - 2**64 if address >= 2**63 else address


def _words(values: Sequence[int]) -> Any:
    return (ctypes.c_int64 * max(1, len(values)))(*values)

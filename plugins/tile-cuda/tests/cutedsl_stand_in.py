"""Runs kernels in CuTe DSL on the host, without the package: their source is Python, and numpy does what it says.

Every thread of a block is a thread of Python. Numbers are strict where the package converts silently: an operation on
two types raises TypeError, so that the emitter has to say every conversion. ``run`` executes a source.
"""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from matrix_layouts import FRAGMENTS

_DTYPES = {
    "Float64": np.float64, "Float32": np.float32, "Float16": np.float16, "BFloat16": ml_dtypes.bfloat16,
    "Int8": np.int8, "Uint8": np.uint8, "Int16": np.int16, "Uint16": np.uint16, "Int32": np.int32,
    "Uint32": np.uint32, "Int64": np.int64, "Uint64": np.uint64, "Boolean": np.bool_,
}  # fmt: skip
WARP = 32


class Number:
    """A value of one type of CuTe DSL; the classes of KINDS derive from it."""

    dtype: Any

    def __init__(self, value: Any) -> None:
        source = type(value)
        if isinstance(value, Number):
            value = value.value
            if _is_float(source) and not _is_float(type(self)) and type(self) is not KINDS["Boolean"]:
                raise TypeError(f"{source.__name__} becomes {type(self).__name__} by tc.truncate")
        with np.errstate(all="ignore"):
            self.value = np.asarray(value).astype(self.dtype)[()]

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return int(self.value)

    def __neg__(self) -> Number:
        with np.errstate(all="ignore"):
            return type(self)(-self.value)

    def __invert__(self) -> Number:
        return type(self)(~self.value)


def _is_float(kind: Any) -> bool:
    return getattr(kind, "__name__", "") in ("Float64", "Float32", "Float16", "BFloat16")


def _other(number: Number, other: Any) -> Any:
    """The value of the other operand, which has the same type or is a number of Python."""
    if isinstance(other, Number):
        if type(other) is not type(number):
            raise TypeError(f"{type(number).__name__} with {type(other).__name__}")
        return other.value
    return type(number)(other).value


def _add_operators() -> None:
    arithmetic = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "truediv": operator.truediv,
                  "mod": np.fmod, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
                  "lshift": operator.lshift, "rshift": operator.rshift}  # fmt: skip
    for name, function in arithmetic.items():
        setattr(Number, f"__{name}__", _operator(function, swap=False))
        setattr(Number, f"__r{name}__", _operator(function, swap=True))
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Number, f"__{name}__", _comparison(getattr(operator, name)))


def _operator(function: Callable[..., Any], swap: bool) -> Callable[..., Any]:
    def compute(a: Number, b: Any) -> Number:
        with np.errstate(all="ignore"):
            left, right = a.value, _other(a, b)
            return type(a)(function(right, left) if swap else function(left, right))

    return compute


def _comparison(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a, b: KINDS["Boolean"](function(a.value, _other(a, b)))


_add_operators()
KINDS: dict[str, Any] = {name: type(name, (Number,), {"dtype": np.dtype(kind)}) for name, kind in _DTYPES.items()}


# -- memory ----------------------------------------------------------------------------------------------------------


class Array:
    """Bytes from ``start`` on, as elements of ``kind``; an access out of the bytes raises IndexError."""

    def __init__(self, kind: Any, data: np.ndarray, start: int = 0) -> None:
        self.kind, self.data, self.start = kind, data, start

    def words(self, index: Any, dtype: Any, count: int = 1) -> np.ndarray:
        first = self.start + int(index) * np.dtype(dtype).itemsize
        last = first + count * np.dtype(dtype).itemsize
        if first < 0 or last > len(self.data):
            raise IndexError(f"bytes {first} to {last} of {len(self.data)}")
        return self.data[first:last].view(dtype)

    def __getitem__(self, index: Any) -> Number:
        return self.kind(self.words(index, self.kind.dtype)[0])


class Warp:
    """What the lanes of a warp exchange."""

    def __init__(self, lanes: int) -> None:
        self.barrier = threading.Barrier(lanes)
        self.values: list[Any] = [None] * WARP

    def exchange(self, lane: int, value: Any) -> list[Any]:
        self.values[lane] = value
        self.barrier.wait()
        values = list(self.values)
        self.barrier.wait()
        return values


class Block:
    """A block that runs: its threads' barrier, its warps and its shared memory."""

    def __init__(self, index: Sequence[int], threads: int, shared_bytes: int) -> None:
        self.index = index
        self.threads = threads
        self.barrier = threading.Barrier(threads)
        self.warps = [Warp(min(WARP, threads - first)) for first in range(0, threads, WARP)]
        self.shared = np.full(shared_bytes, 0xA5, np.uint8)


class Device(SimpleNamespace):
    """The module ``tc``; the thread that calls has its block and number in ``here``."""

    def __init__(self) -> None:
        super().__init__()
        self.here = threading.local()
        self.lock = threading.Lock()

    # memory
    def tensor(self, address: Any, kind: Any) -> Array:
        return Array(kind, address)

    def shared(self, size: int) -> Array:
        assert size == len(self.here.block.shared)
        return Array(KINDS["Uint8"], self.here.block.shared)

    def in_shared(self, arena: Array, offset: int, kind: Any) -> Array:
        return Array(kind, arena.data, offset)

    def local(self, kind: Any, count: int, align: int = 0) -> Array:
        return Array(kind, np.full(count * kind.dtype.itemsize, 0x5A, np.uint8))

    def view(self, array: Array, kind: Any) -> Array:
        return Array(kind, array.data, array.start)

    def at(self, array: Array, index: Any) -> Array:
        return Array(array.kind, array.data, array.start + int(index) * array.kind.dtype.itemsize)

    def store(self, array: Array, index: Any, value: Any) -> None:
        if isinstance(value, Number) and _is_float(type(value)) != _is_float(array.kind):
            raise TypeError(f"{type(value).__name__} in memory of {array.kind.__name__}")
        array.words(index, array.kind.dtype)[0] = array.kind(value).value

    def move(self, size: int, to: Array, source: Array) -> None:
        assert to.start % size == 0
        assert source.start % size == 0
        to.words(0, np.uint8, size)[:] = source.words(0, np.uint8, size)

    def copy_async(self, size: int, to: Array, source: Array, valid: Any) -> None:
        if valid:
            self.move(size, to, source)
        else:
            to.words(0, np.uint8, size)[:] = 0

    def commit_async(self) -> None:
        pass

    def wait_async(self, groups: int) -> None:
        pass

    # numbers
    def sum(self, a: Any, b: Any) -> Number:
        return a + b

    def difference(self, a: Any, b: Any) -> Number:
        return a - b

    def product(self, a: Any, b: Any) -> Number:
        return a * b

    def divide(self, a: Any, b: Any) -> Number:
        kind = type(a) if isinstance(a, Number) else type(b)
        left, right = int(kind(a).value), int(kind(b).value)
        quotient = abs(left) // abs(right)
        return kind(quotient if (left < 0) == (right < 0) else -quotient)

    def floor_div(self, a: Any, b: Any) -> Number:
        kind = type(a) if isinstance(a, Number) else type(b)
        return kind(int(kind(a).value) // int(kind(b).value))

    def floor_mod(self, a: Any, b: Any) -> Number:
        kind = type(a) if isinstance(a, Number) else type(b)
        return kind(int(kind(a).value) % int(kind(b).value))

    def select(self, condition: Any, yes: Any, no: Any, kind: Any) -> Number:
        return kind(yes if condition else no)

    def choose(self, condition: Any, yes: Callable[[], Any], no: Callable[[], Any], kind: Any) -> Number:
        return kind(yes() if condition else no())

    def min(self, a: Any, b: Any) -> Number:
        return self._extreme(np.fmin, a, b)

    def max(self, a: Any, b: Any) -> Number:
        return self._extreme(np.fmax, a, b)

    def _extreme(self, function: Callable[..., Any], a: Any, b: Any) -> Number:
        kind = type(a) if isinstance(a, Number) else type(b)
        return kind(function(kind(a).value, kind(b).value))

    def fma(self, a: Number, b: Number, c: Number) -> Number:
        return type(a)(np.longdouble(a.value) * np.longdouble(b.value) + np.longdouble(c.value))

    def exp(self, value: Number) -> Number:
        return type(value)(np.exp(np.float64(value.value)))

    def exp2(self, value: Number) -> Number:
        return type(value)(np.exp2(np.float64(value.value)))

    def rsqrt(self, value: Number) -> Number:
        return type(value)(1 / np.sqrt(np.float64(value.value)))

    def abs(self, value: Number) -> Number:
        return type(value)(np.abs(value.value))

    def quotient(self, a: Number, b: Number) -> Number:
        return a / b

    def quotients(self, count: int, values: Array, b: Number) -> None:
        for number in range(count):
            self.store(values, number, values[number] / b)

    def truncate(self, kind: Any, value: Number) -> Number:
        if np.isnan(value.value):
            return kind(0)
        limits = np.iinfo(kind.dtype)
        return kind(int(np.trunc(np.clip(np.float64(value.value), float(limits.min), float(limits.max)))))

    def bits(self, kind: Any, value: Number) -> Number:
        return kind(np.asarray(value.value).view(kind.dtype)[()])

    # threads
    def barrier(self) -> None:
        self.here.block.barrier.wait()

    @property
    def _lane(self) -> int:
        return int(self.here.thread) % WARP

    def _exchange(self, value: Any) -> list[Any]:
        return self.here.block.warps[self.here.thread // WARP].exchange(self._lane, value)

    def shuffle_xor(self, value: Number, lane: Any, width: Any = WARP) -> Number:
        return self._exchange(value)[self._lane ^ int(lane)]

    def shuffle_idx(self, value: Number, lane: Any, width: Any = WARP) -> Number:
        first = self._lane // int(width) * int(width)
        return self._exchange(value)[first + int(lane) % int(width)]

    # atomics
    def atomic_add(self, array: Array, value: Any, order: str = "relaxed") -> Number:
        with self.lock:
            old = array[0]
            self.store(array, 0, old + array.kind(value))
            return old

    # matrix instructions
    def ldmatrix(self, count: int, trans: bool, to: Array, row: Array) -> None:
        rows = [r.words(0, np.uint16, 8) for r in self._exchange(row)]
        lane, registers = self._lane, to.words(0, np.uint16, 2 * count)
        for matrix in range(count):
            tile = np.stack(rows[8 * matrix : 8 * matrix + 8])
            tile = tile.T if trans else tile
            registers[2 * matrix : 2 * matrix + 2] = tile[lane // 4, 2 * (lane % 4) : 2 * (lane % 4) + 2]
        self._exchange(None)  # no lane overwrites a row that others read

    def mma(self, instruction: str, d: Array, a: Array, b: Array) -> None:
        layout = FRAGMENTS[instruction]
        lanes = self._exchange((d, a, b))
        products = [{}, {}, {}]  # by (row, column): D as it was, A and B
        parts = ((layout.d, layout.place_d), (layout.a, layout.place_a), (layout.b, layout.place_b))
        for position, (count, place) in enumerate(parts):
            for lane, arrays in enumerate(lanes):
                array = arrays[position]
                for register, value in enumerate(array.words(0, array.kind.dtype, count)):
                    products[position][place(lane, register)] = float(value)
        total, left, right = (_matrix(part) for part in products)
        result = total + left @ right
        self._exchange(None)  # all lanes have read
        registers = d.words(0, d.kind.dtype, layout.d)
        for register in range(layout.d):
            registers[register] = result[layout.place_d(self._lane, register)]


def _matrix(values: dict[tuple[int, int], float]) -> np.ndarray:
    matrix = np.zeros(np.max(list(values), axis=0) + 1)
    for place, value in values.items():
        matrix[place] = value
    return matrix


# -- the modules that a source imports --------------------------------------------------------------------------------


class _Kernel:
    """A function that ``cute.kernel`` decorates."""

    def __init__(self, device: Device, function: Callable[..., None]) -> None:
        self.device, self.function = device, function

    def __call__(self, *arguments: Any) -> Any:
        return SimpleNamespace(launch=lambda **launch: self._launch(arguments, **launch))

    def _launch(self, arguments: Any, grid: Any, block: Any, smem: int, stream: Any) -> None:
        x, y, z = (int(size) for size in grid)
        for index in ((i, j, k) for k in range(z) for j in range(y) for i in range(x)):
            self._block(arguments, Block(index, int(np.prod(block)), smem), block)

    def _block(self, arguments: Any, block: Block, sizes: Sequence[int]) -> None:
        errors: list[BaseException] = []

        def run(number: int) -> None:
            here = self.device.here
            here.block, here.thread = block, number
            here.index = (number % sizes[0], number // sizes[0] % sizes[1], number // (sizes[0] * sizes[1]))
            try:
                self.function(*arguments)
            except BaseException as error:
                errors.append(error)
                for barrier in (block.barrier, *(warp.barrier for warp in block.warps)):
                    barrier.abort()

        threads = [threading.Thread(target=run, args=(number,)) for number in range(block.threads)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        errors.sort(key=lambda error: isinstance(error, threading.BrokenBarrierError))
        if errors:
            raise errors[0]


def _range(*bounds: Any, unroll_full: bool = False, unroll: int = 0) -> Iterator[Number]:
    """``cutlass.range``: its variable has the type of the bounds."""
    kind = next((type(bound) for bound in bounds if isinstance(bound, Number)), KINDS["Int32"])
    return (kind(number) for number in range(*(int(bound) for bound in bounds)))


def _modules(device: Device) -> dict[str, Any]:
    int32 = KINDS["Int32"]
    arch = SimpleNamespace(
        block_idx=lambda: tuple(int32(i) for i in device.here.block.index),
        thread_idx=lambda: tuple(int32(i) for i in device.here.index),
    )
    cutlass, cute, driver, parent = (ModuleType(name) for name in ("cutlass", "cute", "driver", "tile_cuda.cutedsl"))
    vars(cute).update(kernel=lambda function: _Kernel(device, function), jit=lambda function: function, arch=arch)
    vars(cutlass).update(KINDS, cute=cute, range=_range)
    vars(driver).update(CUstream=object)
    vars(parent).update(device=device)
    bindings, cuda = ModuleType("cuda.bindings"), ModuleType("cuda")
    vars(bindings).update(driver=driver)
    vars(cuda).update(bindings=bindings)
    return {
        "cutlass": cutlass, "cutlass.cute": cute, "cuda": cuda, "cuda.bindings": bindings,
        "cuda.bindings.driver": driver, "tile_cuda.cutedsl": parent, "tile_cuda.cutedsl.device": device,
    }  # fmt: skip


def run(source: str, symbol: str, arguments: Sequence[Any], grid: Sequence[int]) -> None:
    """Runs a kernel of a source. arguments: arrays of numpy, in which it reads and writes, and numbers."""
    modules = _modules(Device())
    before = {name: sys.modules.get(name) for name in modules}
    sys.modules.update(modules)
    try:
        names: dict[str, Any] = {}
        exec(compile(source, f"<{symbol}>", "exec", dont_inherit=True), names)
    finally:
        for name, module in before.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    launcher = names[f"launch_{symbol}"]
    kinds = list(launcher.__annotations__.values())
    values = [
        argument.reshape(-1).view(np.uint8) if isinstance(argument, np.ndarray) else kind(argument)
        for argument, kind in zip(arguments, kinds, strict=False)
    ]
    launcher(*values, *grid, None)

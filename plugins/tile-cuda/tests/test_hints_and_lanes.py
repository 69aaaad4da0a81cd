"""Loads and stores with cache hints, votes and matches of lanes, vector atomics: emitted source and results."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import thread_kernels as kernels
from tile_cuda import codegen
from tile_cuda.headers import INCLUDE

import tilecore
import tilecore.language as T
from tilecore.errors import ToolchainError, UnsupportedError
from tilecore.ir.build import const, load, seq, store
from tilecore.ir.nodes import AllocBuffer, AttrStmt, BufferLoad, BufferStore, Ramp, StringImm
from tilecore.simulate.arguments import Tensor
from tilecore.simulate.compilers import find_compiler
from tilecore.simulate.device import SimulatedDevice

HINTS = ("streaming", "evict_first", "evict_last")


@pytest.fixture(scope="module", autouse=True)
def compiler():
    try:
        return find_compiler()
    except ToolchainError as error:
        pytest.skip(error.message)


def run(source: str, symbol: str, threads: int, *tensors: tuple[str, np.ndarray, str]) -> None:
    library = SimulatedDevice().compile(source, [symbol], INCLUDE)
    SimulatedDevice().run(library, symbol, (1,), (threads,), [Tensor.of(*tensor) for tensor in tensors])


def hinted_copy(hint: str):
    """B = A by 16 bytes a thread, then C[t] = A[t], with a hint for both."""
    a, b, c = (kernels.buffer(name, 128) for name in "ABC")
    vector, scalar = kernels.buffer("vector", 4, scope="local"), kernels.buffer("scalar", 1, scope="local")
    lanes, place = Ramp(kernels.TX * 4, 1, 4), Ramp(0, 1, 4)
    body = seq([
        AllocBuffer(vector), AllocBuffer(scalar),
        AttrStmt(const(0, "int32"), "simt.move_hint", StringImm(hint), seq([
            BufferStore(vector, BufferLoad(a, [lanes]), [place]),
            BufferStore(b, BufferLoad(vector, [place]), [lanes]),
            store(scalar, load(a, [kernels.TX]), [0]),
        ])),
        store(c, load(scalar, [0]), [kernels.TX]),
    ])  # fmt: skip
    return kernels.kernel("k", [a, b, c], body, [1], 32, simt_access={"A": "r", "B": "w", "C": "rw"})


@pytest.mark.parametrize("hint", HINTS)
def test_moves_have_their_cache_hint(hint):
    source = codegen.build(hinted_copy(hint), "cuda")["source"]
    for text in (f"tc_load_{hint}<16>(vector, A + tx * 4)", f"tc_store_{hint}<16>(B + tx * 4, vector)",
                 f"tc_load_{hint}<4>(&scalar, A + tx)", "C[tx] = scalar;"):  # fmt: skip
        assert text in source
    a, b, c = np.arange(128, dtype=np.float32), np.zeros(128, np.float32), np.zeros(128, np.float32)
    run(source, "k", 32, ("A", a, "r"), ("B", b, "w"), ("C", c, "rw"))
    np.testing.assert_array_equal(b, a)
    np.testing.assert_array_equal(c[:32], a[:32])


def test_an_unknown_hint_is_refused():
    with pytest.raises(UnsupportedError, match="the hint 'often' for moves") as caught:
        codegen.build(hinted_copy("often"), "cuda")
    assert "evict_first" in caught.value.hint


def source_of(body: str, parameters: str) -> str:
    return f"""#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(64) k({parameters}) {{
  const int t = threadIdx.x;
{body}
}}
"""


@pytest.mark.parametrize(("kind", "dtype"), [("int", np.int32), ("long long", np.int64), ("float", np.float32)])
def test_reductions_over_lanes_with_equal_values(kind, dtype):
    text = source_of(
        "  M[t] = tc_match_any(X[t]);\n  M[64 + t] = tc_match_all(X[t]);\n  M[128 + t] = tc_active_mask();",
        f"const {kind}* X, unsigned* M",
    )
    x = np.concatenate([np.arange(32) % 5, np.full(32, 7)]).astype(dtype)
    m = np.zeros(192, np.uint32)
    run(text, "k", 64, ("X", x, "r"), ("M", m, "w"))
    same = [sum(1 << j for j in range(32) if x[i // 32 * 32 + j] == x[i]) for i in range(64)]
    assert m[:64].tolist() == same
    assert m[64:128].tolist() == [0] * 32 + [0xFFFFFFFF] * 32
    assert m[128:].tolist() == [0xFFFFFFFF] * 64


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("float", np.float32), ("tc_half", np.float16), ("tc_bfloat16", ml_dtypes.bfloat16), ("int", np.int32)],
)
def test_atomics_of_several_elements(kind, dtype, count):
    """64 threads add to the same 16 elements, some at once."""
    text = source_of(f"  tc_atomic_add_x{count}(Y + t * {count} % 16, X + t * {count});", f"const {kind}* X, {kind}* Y")
    x = np.random.default_rng(0).integers(0, 3, 64 * count).astype(dtype)
    y = np.zeros(16, dtype)
    run(text, "k", 64, ("X", x, "r"), ("Y", y, "rw"))
    np.testing.assert_array_equal(y, x.astype(np.float64).reshape(-1, 16).sum(0).astype(dtype))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("signed char", np.int8), ("tc_half", np.float16), ("short", np.int16), ("float", np.float32),
     ("long long", np.int64), ("double", np.float64)],
)  # fmt: skip
def test_shuffles_of_every_size(kind, dtype):
    text = source_of(
        "  Y[t] = tc_shuffle_idx(X[t], 3, 8);\n  Y[64 + t] = tc_shuffle_xor(X[t], 5);\n"
        "  Y[128 + t] = tc_shuffle_up(X[t], 2);\n  Y[192 + t] = tc_shuffle_down(X[t], 3, 16);",
        f"const {kind}* X, {kind}* Y",
    )
    x = np.arange(64).astype(dtype)
    y = np.zeros(256, dtype)
    run(text, "k", 64, ("X", x, "r"), ("Y", y, "w"))
    t = np.arange(64)
    places = [t // 8 * 8 + 3, t ^ 5, np.where(t % 32 >= 2, t - 2, t), np.where(t % 16 + 3 < 16, t + 3, t)]
    np.testing.assert_array_equal(y, x[np.concatenate(places)])


def test_blocks_of_a_multiprocessor():
    @T.prim_func
    def kernel(Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            T.fill(Y[0:32], 1.0)
        with T.Kernel(1, threads=64):
            T.annotate_min_blocks_per_sm(2)
            T.annotate_min_blocks_per_sm(3)
            T.fill(Y[32:64], 2.0)

    source = tilecore.compile(kernel, target="cuda", execution_backend="sim").get_kernel_source()
    assert "__launch_bounds__(32) kernel_kernel_0_64_f32_" in source
    assert "__launch_bounds__(64, 3) kernel_kernel_1_64_f32_" in source

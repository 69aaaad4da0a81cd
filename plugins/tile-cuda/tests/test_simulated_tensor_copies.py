"""TMA copies on the simulated device: their results, and the errors that it reports."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from simulated_kit import aligned, caught, map_of, needs_compiler, planted, run

from tilecore.errors import LaunchError

pytestmark = needs_compiler

# One box from `at` on, as it lies in shared memory; PLACES: the coordinates.
LOAD = """
extern "C" __global__ void load(const TYPE* A, TYPE* B, const int* at, int count,
                                const __grid_constant__ tc_tensor_map map) {
  TC_SHARED(shared);
  void* barrier = shared + 32768;
  if (threadIdx.x == 0) {
    tc_transaction_init(barrier, 1);
    tc_transaction_fence_init();
  }
  tc_barrier();
  if (threadIdx.x == 0) {
    tc_transaction_arrive_expect(barrier, count * sizeof(TYPE));
    tc_tensor_load(shared, &map, barrier, PLACES);
  }
  tc_transaction_wait(barrier, 0);
  for (int i = threadIdx.x; i < count; i += 64) B[i] = ((TYPE*)shared)[i];
}
"""
# A tile as it lies in shared memory, to the box from `at` on.
STORE = """
extern "C" __global__ void store(const TYPE* A, TYPE* B, const int* at, int count,
                                 const __grid_constant__ tc_tensor_map map) {
  TC_SHARED(shared);
  for (int i = threadIdx.x; i < count; i += 64) ((TYPE*)shared)[i] = A[i];
  tc_fence_async();
  tc_barrier();
  if (threadIdx.x == 0) {
    tc_tensor_CALL(&map, shared, PLACES);
    tc_commit_stores();
    tc_wait_stores<0>();
  }
}
"""
C_TYPES = {"float16": "tc_half", "float32": "float", "int32": "int", "uint8": "unsigned char"}


def text(source: str, dtype: str, rank: int, call: str = "store") -> str:
    places = ", ".join(f"at[{axis}]" for axis in range(rank))
    return source.replace("TYPE", C_TYPES[dtype]).replace("PLACES", places).replace("CALL", call)


def tile_of(box: np.ndarray, swizzle: str) -> np.ndarray:
    """The elements in the order of shared memory: 16-byte pieces are permuted by bits of their address."""
    raw = np.ascontiguousarray(box).reshape(-1).view(np.uint8).reshape(-1, 16)
    mask = {"none": 0, "32B": 1, "64B": 3, "128B": 7}[swizzle]
    pieces = np.empty_like(raw)
    for number, piece in enumerate(raw):
        pieces[number ^ (number >> 3 & mask)] = piece
    return pieces.reshape(-1).view(box.dtype)


def box_of(array: np.ndarray, at, box, steps, filled=0):
    """The elements from ``at`` on (axes counted from the innermost), and their indices where they are inside."""
    counts = [-(-b // s) for b, s in zip(box, steps, strict=True)]
    elements = np.full(counts[::-1], filled, array.dtype)
    inside = {}
    for index in itertools.product(*map(range, counts)):
        place = tuple(a + i * s for a, i, s in zip(at, index, steps, strict=True))[::-1]
        if all(0 <= p < n for p, n in zip(place, array.shape, strict=True)):
            elements[index[::-1]] = array[place]
            inside[index[::-1]] = place
    return elements, inside


CASES = [  # dtype, shape (outermost first), box (innermost first), steps, swizzle, place
    ("float32", (100, 60), (32, 32), (1, 1), "128B", (16, 40)),
    ("float32", (100, 60), (32, 32), (1, 1), "128B", (40, 90)),
    ("float32", (100, 60), (32, 32), (1, 1), "none", (-8, -3)),
    ("float16", (9, 30, 64), (32, 8, 4), (1, 1, 1), "64B", (40, 25, 7)),
    ("float16", (4, 40, 64), (16, 16, 2), (1, 2, 1), "32B", (-8, 3, -1)),
    ("uint8", (3, 2, 5, 7, 48), (16, 3, 2, 2, 2), (1, 1, 1, 1, 1), "none", (32, 5, 4, 1, 2)),
    ("uint8", (2, 5, 7, 128), (128, 5, 3, 2), (1, 1, 1, 1), "128B", (0, 3, 4, -1)),
    ("float16", (1000,), (256,), (1,), "none", (904,)),
    ("float32", (8, 8), (8, 8), (1, 1), "none", (200, 0)),
]


def data(dtype: str, shape, seed: int = 1) -> np.ndarray:
    return aligned(np.random.default_rng(seed).integers(1, 100, shape).astype(dtype))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_boxes_land_swizzled_and_filled(case):
    dtype, shape, box, steps, swizzle, at = case
    a = data(dtype, shape)
    expected, _ = box_of(a, at, box, steps)
    b = np.zeros(expected.size, dtype)
    places = np.array(at, np.int32)
    tensor_map = map_of(0, a, box, element_strides=steps, swizzle=swizzle)
    for seed in range(2):
        arguments = ("A", a, "r"), ("B", b, "w"), ("at", places, "r"), expected.size
        run(text(LOAD, dtype, len(shape)), "load", 64, *arguments, maps=[tensor_map], shared=32776, seed=seed)
        np.testing.assert_array_equal(b, tile_of(expected, swizzle))


def test_elements_outside_may_be_nan():
    a = data("float16", (4, 16))
    b = np.zeros(16 * 8, np.float16)
    tensor_map = map_of(0, a, (16, 8), fill="nan")
    arguments = ("A", a, "r"), ("B", b, "w"), ("at", np.array([0, 0], np.int32), "r"), b.size
    run(text(LOAD, "float16", 2), "load", 64, *arguments, maps=[tensor_map], shared=32776)
    np.testing.assert_array_equal(b[:64].reshape(4, 16), a)
    assert np.isnan(b[64:]).all()


@pytest.mark.parametrize("call", ["store", "add"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_boxes_are_stored_and_added(case, call):
    dtype, shape, box, steps, swizzle, at = case
    if call == "add" and dtype == "uint8":
        pytest.skip("bytes are not added")
    b = data(dtype, shape)
    some, inside = box_of(b, at, box, steps)
    tile = data(dtype, some.shape, 2)
    expected = b.copy()
    for index, place in inside.items():
        expected[place] = tile[index] + (b[place] if call == "add" else 0)
    tensor_map = map_of(1, b, box, element_strides=steps, swizzle=swizzle)
    places = np.array(at, np.int32)
    arguments = ("A", tile_of(tile, swizzle), "r"), ("B", b, "rw"), ("at", places, "r"), tile.size
    run(text(STORE, dtype, len(shape), call), "store", 64, *arguments, maps=[tensor_map], shared=32768)
    np.testing.assert_array_equal(b, expected)


def test_blocks_add_to_one_box():
    b = aligned(np.zeros((8, 8), np.int32))
    a, tensor_map = np.arange(64, dtype=np.int32), map_of(1, b, (8, 8))
    arguments = ("A", a, "r"), ("B", b, "rw"), ("at", np.zeros(2, np.int32), "r"), 64
    run(text(STORE, "int32", 2, "add"), "store", 64, *arguments, maps=[tensor_map], shared=32768, grid=(5,))
    np.testing.assert_array_equal(b.ravel(), 5 * a)
    error = caught(text(STORE, "int32", 2), "store", 64, *arguments, maps=[tensor_map], shared=32768, grid=(5,))
    assert error.kind == "race"


# -- planted ----------------------------------------------------------------------------------------------------------


def load_error(source: str, swizzle: str = "128B", box=(32, 32), **options):
    a, b = data("float32", (100, 60)), np.zeros(1024, np.float32)
    arguments = ("A", a, "r"), ("B", b, "w"), ("at", np.array([16, 40], np.int32), "r"), 1024
    return caught(source, "load", 64, *arguments, maps=[map_of(0, a, box, swizzle=swizzle)], shared=32776, **options)


def store_error(source: str, shared: int = 32768):
    b, a = data("float32", (100, 60)), np.zeros(1024, np.float32)
    arguments = ("A", a, "r"), ("B", b, "rw"), ("at", np.array([0, 0], np.int32), "r"), 1024
    return caught(source, "store", 64, *arguments, maps=[map_of(1, b, (32, 32))], shared=shared)


FLOATS = text(LOAD, "float32", 2)
STORED = text(STORE, "float32", 2)


def test_no_wait_for_a_box():
    error = load_error(planted(FLOATS, "  tc_transaction_wait(barrier, 0);\n"))
    assert error.kind in ("missing_wait", "uninitialised")
    assert error.tensor == "shared memory"


def test_more_bytes_expected_than_copied():
    assert load_error(planted(FLOATS, "count * sizeof(float)", "count * sizeof(float) + 16")).kind == "deadlock"


def test_a_wait_for_the_other_parity():
    error = load_error(planted(FLOATS, "tc_transaction_wait(barrier, 0)", "tc_transaction_wait(barrier, 1)"))
    assert error.kind in ("missing_wait", "uninitialised")


def test_a_tile_at_a_wrong_address():
    error = load_error(planted(FLOATS, "tc_tensor_load(shared,", "tc_tensor_load(shared + 64,"))
    assert error.kind == "misaligned"
    assert "128 bytes" in str(error)


@pytest.mark.parametrize("start", ["load", "store"])
def test_rows_that_begin_off_16_bytes(start):
    """On hardware it is an illegal instruction."""
    find = load_error if start == "load" else store_error
    error = find(planted(FLOATS if start == "load" else STORED, "at[0], at[1]", "at[0] + 2, at[1]"))
    assert error.kind == "misaligned"
    assert "innermost coordinate" in str(error)


def test_as_many_coordinates_as_axes():
    error = load_error(planted(FLOATS, "at[0], at[1])", "at[0])"))
    assert error.kind == "invalid_operation"
    assert "coordinates" in str(error)


def test_a_box_beyond_shared_memory():
    error = load_error(planted(FLOATS, "tc_tensor_load(shared,", "tc_tensor_load(shared + 30720,"))
    assert error.kind == "out_of_bounds"


def test_a_barrier_that_is_not_initialised():
    error = load_error(planted(FLOATS, "    tc_transaction_init(barrier, 1);\n"))
    assert error.kind == "uninitialised_barrier"


def test_a_store_without_a_wait():
    assert store_error(planted(STORED, "    tc_wait_stores<0>();\n")).kind == "missing_wait"
    error = store_error(planted(STORED, "    tc_commit_stores();\n"))
    assert error.kind == "missing_wait"


def test_a_source_overwritten_before_it_is_read():
    late = "tc_commit_stores();\n    ((float*)shared)[0] = 1.0f;\n"
    error = store_error(planted(STORED, "tc_commit_stores();\n", late))
    assert error.kind == "missing_wait"
    read = "tc_commit_stores();\n    tc_wait_stores_read<0>();\n    ((float*)shared)[0] = 1.0f;\n"
    b, a = data("float32", (100, 60)), np.ones(1024, np.float32) * 3
    arguments = ("A", a, "r"), ("B", b, "rw"), ("at", np.array([0, 0], np.int32), "r"), 1024
    run(
        planted(STORED, "tc_commit_stores();\n", read),
        "store",
        64,
        *arguments,
        maps=[map_of(1, b, (32, 32))],
        shared=32768,
    )
    assert (b[:32, :32] == 3).all()


def test_a_tile_stored_by_a_map_of_another_swizzle():
    source = """
extern "C" __global__ void both(const float* A, float* B, const __grid_constant__ tc_tensor_map from,
                                const __grid_constant__ tc_tensor_map to) {
  TC_SHARED(shared);
  void* barrier = shared + 4096;
  tc_transaction_init(barrier, 1);
  tc_transaction_fence_init();
  tc_transaction_arrive_expect(barrier, 4096);
  tc_tensor_load(shared, &from, barrier, 0, 0);
  tc_transaction_wait(barrier, 0);
  tc_tensor_store(&to, shared, 0, 0);
  tc_commit_stores();
  tc_wait_stores<0>();
}
"""
    a, b = data("float32", (32, 32)), aligned(np.zeros((32, 32), np.float32))
    arguments = ("A", a, "r"), ("B", b, "w")
    for first, second in itertools.product(("none", "64B", "128B"), repeat=2):
        if {first, second} == {"64B", "128B"}:  # no box suits both
            continue
        box = (16, 32) if "64B" in (first, second) else (32, 32)
        maps = [map_of(0, a, box, swizzle=first), map_of(1, b, box, swizzle=second)]
        source_here = source.replace("4096);\n  tc_tensor", f"{box[0] * 128});\n  tc_tensor")
        if first == second:
            run(source_here, "both", 1, *arguments, maps=maps, shared=4104)
            np.testing.assert_array_equal(b[:, : box[0]], a[:, : box[0]])
        else:
            assert caught(source_here, "both", 1, *arguments, maps=maps, shared=4104).kind == "swizzle_mismatch"


def test_matrix_rows_read_without_the_swizzle_of_the_map():
    source = """
extern "C" __global__ void rows(const tc_half* A, tc_half* B, const __grid_constant__ tc_tensor_map map) {
  TC_SHARED(shared);
  void* barrier = shared + 2048;
  const int lane = threadIdx.x;
  if (lane == 0) {
    tc_transaction_init(barrier, 1);
    tc_transaction_fence_init();
    tc_transaction_arrive_expect(barrier, 2048);
    tc_tensor_load(shared, &map, barrier, 0, 0);
  }
  tc_warp_barrier();
  tc_transaction_wait(barrier, 0);
  alignas(16) tc_half values[8];
  tc_ldmatrix_x4(values, shared + lane % 16 * 128 + ((lane / 16) ^ (lane & 7)) * 16);
  for (int i = 0; i < 8; ++i) B[lane * 8 + i] = values[i];
}
"""
    a, b = data("float16", (16, 64)), np.zeros(256, np.float16)
    tensor_map = map_of(0, a, (64, 16), swizzle="128B")
    arguments = ("A", a, "r"), ("B", b, "w")
    run(source, "rows", 32, *arguments, maps=[tensor_map], shared=2056)
    assert b[2 * 8] == a[0, 4]
    plain = planted(source, "((lane / 16) ^ (lane & 7))", "(lane / 16)")
    assert caught(plain, "rows", 32, *arguments, maps=[tensor_map], shared=2056).kind == "swizzle_mismatch"


def test_maps_come_with_the_launch():
    """The maps of a compiled artifact with symbolic sizes."""
    from cuda_artifacts import artifact
    from tile_cuda.launch.tensor_maps import TensorMap
    from tile_cuda.simulated import simulated_adapter

    from tilecore.artifact.dims import DimExpr
    from tilecore.artifact.records import Entry, ScalarParam, Symbol, TensorParam
    from tilecore.runtime.launcher import Launcher

    m, n = DimExpr("m"), DimExpr("n")
    tensor_map = TensorMap(
        0, "float32", (n, m), (DimExpr(("*", "n", 4)),), (32, 32), offset=DimExpr(("*", "n", 8)), name="A"
    )
    params = (
        TensorParam("A", "float32", (m, n), access="r"), TensorParam("B", "float32", (1024,), access="w"),
        ScalarParam("x", "int32"), ScalarParam("y", "int32"),
    )  # fmt: skip
    source = '#include "tilecore_cuda.h"\n' + text(LOAD, "float32", 2).replace("at[0]", "x").replace("at[1]", "y")
    source = source.replace("const int* at, int count,", "int x, int y, int m, int n,").replace("count", "1024")
    entry = Entry("load", (1, 1, 1), (64, 1, 1), 32776, attributes={"tensor_maps": [tensor_map.to_json()]})
    symbols = (Symbol("m", ("shape", 0, 0)), Symbol("n", ("shape", 0, 1)))
    kernel = artifact(
        params=params, symbols=symbols, entries=(entry,), source=source, binary=b"", binary_format="simulation",
        adapter="sim",
    )  # fmt: skip
    adapter = simulated_adapter()
    call = Launcher(kernel, adapter.load(kernel), adapter, 1)
    for shape in ((40, 36), (70, 100)):
        a, b = data("float32", shape), np.zeros(1024, np.float32)
        with pytest.raises(Exception, match="out_of_bounds"):  # the map starts two rows down, and is as long
            call(a, b, 0, shape[0] - 33)
        call(a, b, 4, 1)
        np.testing.assert_array_equal(b.reshape(32, 32), a[3:35, 4:36])


def test_what_the_driver_would_refuse():
    a = aligned(np.zeros((100, 64), np.float32))
    shifted = aligned(np.zeros(6401, np.float32))[1:].reshape(100, 64)
    tensor_map = map_of(0, a, (32, 32))
    arguments = ("B", np.zeros(1024, np.float32), "w"), ("at", np.zeros(2, np.int32), "r"), 1024
    with pytest.raises(LaunchError, match=r"load: no tensor map can describe slot 0: its address is 0x\w+4"):
        run(FLOATS, "load", 64, ("A", shifted, "r"), *arguments, maps=[tensor_map], shared=32776)

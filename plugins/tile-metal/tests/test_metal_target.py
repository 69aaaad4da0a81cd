"""The attributes and capabilities of the target, and the errors for what the GPUs or the language version lack."""

from __future__ import annotations

import pytest

import tilecore
import tilecore.language as T
from tilecore.errors import ArgumentError, LimitError, TargetError, UnsupportedError
from tilecore.plugins import manager


def capabilities(text: str):
    backend, target = manager.resolve(text)
    return backend.target.capabilities(target)


def compiled(kernel, target: str = "metal"):
    return tilecore.compile(kernel, target=target, execution_backend="sim")


@pytest.mark.parametrize(
    ("text", "family"),
    [
        ("apple7", "apple7"),
        ("Apple9", "apple9"),
        ("M3", "apple9"),
        ("10", "apple10"),
        ("m4", "apple9"),
        ("a14", "apple7"),
    ],
)
def test_families_by_name_and_by_chip(text, family):
    _, target = manager.resolve(f"metal -family={text}")
    assert target.get("family") == family


@pytest.mark.parametrize("alias", ["mps", "apple"])
def test_aliases(alias):
    assert manager.resolve(alias)[1].kind == "metal"


def test_of_a_chip_with_a_longer_name():
    from tile_metal.families import parse

    assert parse("Apple M3 Max").name == parse("m3 ultra").name == "apple9"


@pytest.mark.parametrize(
    ("family", "msl", "expected"),
    [(9, "4.0", ("apple9", "4.0")), (None, "3.2", ("apple7", "3.2"))],  # a virtual Mac does not say its family
)
def test_auto_is_what_the_mac_has(monkeypatch, family, msl, expected):
    from tile_metal import target as metal_target
    from tile_metal.runtime.machine import Machine

    mac = Machine("Apple M3 Max", family, (26, 1), msl)
    monkeypatch.setattr(metal_target, "machine", lambda: mac)
    target = metal_target.resolve(manager.resolve("cpu")[1])
    assert (target.get("family"), target.get("msl")) == expected
    assert "Apple M3 Max" in metal_target.detect().detail
    explicit = metal_target.resolve(manager.resolve("metal -family=apple8 -msl=3.1")[1])
    assert (explicit.get("family"), explicit.get("msl")) == ("apple8", "3.1")


def test_unknown_names_are_errors():
    with pytest.raises(TargetError) as failure:
        manager.resolve("metal -family=apple6")
    assert "apple7 (M1, A14)" in failure.value.expected
    assert "oldest" in failure.value.hint
    with pytest.raises(TargetError) as failure:
        manager.resolve("metal -msl=2.4")
    assert "3.0 (macOS 13)" in failure.value.expected


def test_capabilities_follow_the_family_and_the_version():
    """Feature set tables of 2025: no float64; no atomics of 8 bytes below Apple9. Specification: bfloat from 3.1 on."""
    oldest, newest = capabilities("metal -family=apple7 -msl=3.0"), capabilities("metal -family=apple9 -msl=3.2")
    assert "float64" not in newest.dtypes
    assert newest.max_threads == 1024
    assert newest.shared_bytes == 32768
    assert newest.warp == 32
    assert "bfloat16" in newest.dtypes
    assert "bfloat16" not in oldest.dtypes
    assert newest.atomic_dtypes - oldest.atomic_dtypes >= {"T.atomic_max of uint64", "T.atomic_min of uint64"}
    assert not {"int64", "uint64"} & newest.atomic_dtypes
    assert oldest.atomic_orders == {"relaxed"}
    assert not newest.atomic_orders


@T.prim_func
def largest(A: T.Tensor((4,), "uint64"), X: T.Tensor((64,), "uint64")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            T.atomic_max(A[i % 4], X[i])


@T.prim_func
def largest_before(A: T.Tensor((4,), "uint64"), X: T.Tensor((64,), "uint64")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            X[i] = T.atomic_max(A[i % 4], X[i], return_prev=True)


def test_the_largest_of_uint64():
    import numpy as np

    kernel = compiled(largest, "metal -family=apple9")
    assert "tc_atomic_ulong_max(&A" in kernel.get_kernel_source()
    a, x = np.zeros(4, np.uint64), np.arange(64, dtype=np.uint64) << np.uint64(50)
    kernel(a, x)
    np.testing.assert_array_equal(a, x[-4:])
    with pytest.raises(UnsupportedError, match=r"T\.atomic_max changes an element of uint64") as failure:
        compiled(largest)
    assert failure.value.location is not None
    with pytest.raises(UnsupportedError, match="atomic max of uint64") as failure:  # there is no old value
        compiled(largest_before, "metal -family=apple9")
    assert "without the old value" in failure.value.hint


@T.prim_func
def doubles(A: T.Tensor((64,), "float64")):
    with T.Kernel(1, threads=64):
        A[0] = 1


@T.prim_func
def wide(A: T.Tensor((4096,), "float32")):
    with T.Kernel(1, threads=2048):
        for i in T.Parallel(2048):
            A[i] = 1


@T.prim_func
def large(A: T.Tensor((64, 256), "float32")):
    with T.Kernel(1, threads=64):
        tile = T.alloc_shared((64, 256), "float32")
        T.copy(A, tile)
        for i, j in T.Parallel(64, 256):
            A[i, j] = tile[63 - i, 255 - j]


@T.prim_func
def released(A: T.Tensor((64,), "int32")):
    with T.Kernel(1, threads=64):
        T.atomic_add(A[0], 1, memory_order="release")


@pytest.mark.parametrize(
    ("kernel", "target", "error", "words"),
    [
        (doubles, "metal", UnsupportedError, ("float64", "float32")),
        (wide, "metal", LimitError, ("at most 1024",)),
        (large, "metal", LimitError, ("at most 32768 bytes",)),
        (released, "metal -msl=3.1", UnsupportedError, ("release", 'memory_order="relaxed"')),
    ],
)
def test_limits_are_named_with_the_line_and_a_way_out(kernel, target, error, words):
    with pytest.raises(error) as failure:
        compiled(kernel, target)
    assert failure.value.location is not None
    assert all(word in str(failure.value) for word in words)


rows, stride = T.dynamic("rows, stride")


@T.prim_func
def last_row(A: T.StridedTensor((rows, 4), (stride, 1), "float32"), B: T.Tensor((4,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(4):
            B[i] = A[rows - 1, i]


@T.prim_func
def far_in_a_large_tensor(A: T.Tensor((1 << 15, 1 << 17), "uint8"), B: T.Tensor((4,), "uint8")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(4):
            B[i] = A[(1 << 15) - 1, i]


def test_offsets_have_32_bits_where_tensors_are_small():
    """Integers of 64 bits are slow: a sum takes 4 times as long, a product 16 times (philipturner/metal-benchmarks)."""
    import numpy as np

    kernel = compiled(last_row)
    assert "long" not in kernel.get_kernel_source()
    a, b = np.arange(24, dtype=np.float32).reshape(3, 8), np.zeros(4, np.float32)
    kernel(a[:, :4], b)
    np.testing.assert_array_equal(b, a[2, :4])
    far = np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (3, 4), (1 << 31, 4))
    with pytest.raises(ArgumentError, match="A is larger than the kernel's 32-bit indices reach") as failure:
        kernel(far, b)
    assert "stride = 536870912" in failure.value.found
    assert 'target="metal -index=64"' in failure.value.hint
    wide = compiled(last_row, "metal -index=64").get_kernel_source()
    assert "(long)stride" in wide
    assert "4294836224l" in compiled(far_in_a_large_tensor).get_kernel_source()
    with pytest.raises(TargetError, match="index"):
        manager.resolve("metal -index=16")

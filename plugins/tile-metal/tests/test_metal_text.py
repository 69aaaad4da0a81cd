"""The emitted text: real MSL with one buffer for each parameter, which becomes C++ of the host line by line."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tile_metal import header
from tile_metal.simulated_text import host_source

import tilecore
import tilecore.language as T


@T.prim_func
def scaled(X: T.Tensor((100,), "float16"), Y: T.Tensor((100,), "float16"), factor: T.float32, shift: T.int64):
    with T.Kernel(1, threads=32):
        tile = T.alloc_shared((128,), "float16")
        for i in T.Parallel(100):
            tile[i] = X[i]
        for i in T.Parallel(100):
            Y[i] = T.cast(tile[99 - i], "float32") * factor + T.cast(shift + 5000000000, "float32")


@pytest.fixture(scope="module")
def source() -> str:
    return tilecore.compile(scaled, target="metal", execution_backend="sim").get_kernel_source()


def test_the_head_of_a_kernel(source):
    head = next(line for line in source.splitlines() if "[[kernel" in line)
    # a bound of at most one simdgroup makes Apple's compiler drop barriers
    assert head.startswith("[[kernel, max_total_threads_per_threadgroup(64)]] void scaled_kernel_")
    assert [int(slot) for slot in re.findall(r"\[\[buffer\((\d+)\)\]\]", head)] == [0, 1, 2, 3]
    assert "device const half* X [[buffer(0)]]" in head
    assert "constant float& factor [[buffer(2)]]" in head
    assert "constant long& shift [[buffer(3)]]" in head
    assert "alignas(16) threadgroup uchar shared[256];" in source
    assert "5000000000ul" in source


def test_lines_of_the_host_are_those_of_the_source(source):
    host = host_source(source)
    assert host.count("\n") == source.count("\n")
    assert "[[" not in host
    assert "5000000000ull" in host
    assert 'extern "C" void scaled_kernel_' in host


def test_strings_and_comments_stay_as_they_are():
    text = 'int x = 7l;  // 7l of a long\ntc_print("7l long char %d\\"7l", (long)x);\n'
    expected = 'int x = 7ll;  // 7l of a long\ntc_print("7l long char %d\\"7l", (long long)x);\n'
    assert host_source(text) == expected


def test_types_of_functions_of_the_user():
    text = "unsigned char a = 0x7fl; signed char b = 5L; char c = 1ul; long d = 0xfful; unsigned long e = x7l;"
    expected = (
        "unsigned char a = 0x7fll; signed char b = 5ll; signed char c = 1ull; "
        "long long d = 0xffull; unsigned long long e = x7l;"
    )
    assert host_source(text) == expected


@T.prim_func
def named_like_macros(FLT_MAX: T.Tensor((64,), "float32"), M_PI_F: T.Tensor((64,), "float32"), INT_MAX: T.int32):
    with T.Kernel(1, threads=64):
        CHAR_BIT = T.alloc_fragment((64,), "float32")
        T.copy(FLT_MAX, CHAR_BIT)
        for HUGE_VALF in T.Parallel(64):
            M_PI_F[HUGE_VALF] = CHAR_BIT[HUGE_VALF] + T.cast(INT_MAX, "float32")


def test_variables_have_no_names_of_macros():
    """Metal's header defines them, and a declaration of such a name does not compile."""
    kernel = tilecore.compile(named_like_macros, target="metal", execution_backend="sim")
    x, y = np.arange(64, dtype=np.float32), np.empty(64, np.float32)
    kernel(x, y, 3)
    np.testing.assert_array_equal(y, x + 3)
    macros = re.findall(r"\b(?:FLT_MAX|M_PI_F|INT_MAX|CHAR_BIT|HUGE_VALF)\b", kernel.get_kernel_source())
    assert macros == []


@T.prim_func
def constants(X: T.Tensor((32,), "float16"), Y: T.Tensor((32,), "bfloat16"), Z: T.Tensor((32,), "float32")):
    with T.Kernel(1, threads=32):
        for i in T.Parallel(32):
            X[i] = T.float16(0.1)
            Y[i] = T.bfloat16(0.1)
            Z[i] = T.float32(0.1) + Z[i] / 3 * T.float32(2.0**-149)


def test_constants_are_decimal():
    """C++ has hexadecimal floats from C++17 on, and MSL is C++14 before 4.0."""
    source = tilecore.compile(constants, target="metal -msl=3.1", execution_backend="sim").get_kernel_source()
    assert "(half)0.0999755859f" in source
    assert "(bfloat)0.100097656f" in source
    assert re.findall(r"0x[0-9a-f.]*p", source) == []


def test_the_kernel_computes():
    x = np.linspace(-3, 3, 100).astype(np.float16)
    y = np.empty_like(x)
    tilecore.compile(scaled, target="metal", execution_backend="sim")(x, y, 2.0, -5000000000 + 7)
    np.testing.assert_array_equal(y, (x[::-1].astype(np.float32) * 2 + 7).astype(np.float16))


def test_a_program_has_the_parts_of_the_header_that_it_uses(source):
    program = header.whole_program(source)
    assert '#include "' not in program
    assert "#include <metal_stdlib>" in program
    assert "tc_atomic_" not in program
    assert "TC_SMALL_FLOAT(tc_fp8_e4m3," not in program
    used = header.whole_program(source + "\n// tc_fp8_e4m3 in a comment\ntc_atomic_add(&x, 1); tc_fp8_e4m3_from(1.0f);")
    assert "TC_ORDERED(device, tc_atomic_add," in used
    assert "TC_CAS(device)" not in used
    assert "bfloat" not in used
    assert "TC_SMALL_FLOAT(tc_fp8_e4m3," in used
    fast = header.whole_program(source, fast_math=True)
    assert fast.startswith("#define TC_FAST_MATH\n")

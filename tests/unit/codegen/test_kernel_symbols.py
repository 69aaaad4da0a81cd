"""Names of kernels in emitted source: readable, legal, bounded, and different for what is different."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

import tilecore
import tilecore.language as T
from tilecore.codegen.kernel_symbols import LONGEST, distinct_name, plain_name


def scale(M, N, dtype="float32", factor=2.0, kernels=1):
    @T.prim_func
    def scale(A: T.Tensor((M, N), dtype), B: T.Tensor((M, N), dtype)):
        for _ in [0] * kernels:
            with T.Kernel(M, threads=32) as bx:
                for j in T.Parallel(N):
                    B[bx, j] = A[bx, j] * factor

    return scale


def symbols(func, **settings):
    kernel = tilecore.compile(func, target="cpu", **settings)
    assert all(f"@{entry.symbol}(" in kernel.get_kernel_source() for entry in kernel.artifact.entries)
    return [entry.symbol for entry in kernel.artifact.entries]


def test_the_name_has_the_function_the_shapes_the_type_and_a_digest():
    (name,) = symbols(scale(4, 8, "float16"))
    assert re.fullmatch(r"scale_kernel_4x8_4x8_f16_[0-9a-f]{8}", name)


def test_sizes_of_the_call_have_their_names():
    m = T.dynamic("m")
    assert symbols(scale(m, 8))[0].startswith("scale_kernel_mx8_mx8_f32_")


def test_different_kernels_have_different_names():
    made = [scale(4, 8), scale(4, 8, factor=3.0), scale(8, 4), scale(4, 8, "float64"), scale(4, 8, kernels=3)]
    names = [name for func in made for name in symbols(func)]
    names += symbols(scale(4, 8), pass_configs={"tl.disable_data_race_check": True})
    assert len(set(names)) == len(names) == 8
    assert [name.split("_")[2] for name in symbols(scale(4, 8, kernels=3))] == ["0", "1", "2"]


def test_the_name_is_the_same_in_every_process():
    program = (
        "import tilecore, tilecore.language as T\n"
        "from test_kernel_symbols import scale, symbols\n"
        "print(*symbols(scale(3, 5)), *symbols(scale(4, 8, kernels=2)))"
    )
    environment = dict(os.environ, TILECORE_DISABLE_CACHE="1", PYTHONHASHSEED="7")
    environment["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), *sys.path])
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert run.stdout.split() == symbols(scale(3, 5)) + symbols(scale(4, 8, kernels=2))


def test_the_names_of_the_kernel_and_of_its_library_are_the_function_s():
    kernel = tilecore.compile(scale(4, 8), target="cpu")
    assert kernel.artifact.name == "scale"
    assert "__tvm_ffi_scale(" in kernel.get_host_source()


@pytest.mark.parametrize("length", [1, 20, 52, 53, 54, 100])
def test_the_name_is_bounded_and_different_where_the_start_is_the_same(length):
    shapes, types = ["1024x1024"] * 9, ["f16", "bf16"]
    name = distinct_name("a" * length, shapes, types, "content")
    assert len(name) <= LONGEST
    assert name != distinct_name("a" * length + "b", shapes, types, "content")
    assert name != distinct_name("a" * length, shapes, types, "other content")
    assert name.startswith("a" * min(length, 53))
    assert ("f16_bf16" in name) == (length <= 45)


def test_letters_that_only_python_has_in_names_are_replaced():
    @T.prim_func
    def größe(A: T.Tensor((4,), "float32")):
        with T.Kernel(4, threads=32) as bx:
            A[bx] = 1.0

    assert symbols(größe)[0].startswith("gr__e_kernel_4_f32_")


@pytest.mark.parametrize("kernels", [1, 2])
def test_the_plain_name_is_the_function_s(kernels):
    plain = ["scale_kernel"] if kernels == 1 else ["scale_kernel_0", "scale_kernel_1"]
    assert [plain_name(symbol) for symbol in symbols(scale(4, 8, kernels=kernels))] == plain
    assert [plain_name(symbol) for symbol in plain] == plain
    assert plain_name("add_kernel_8_8_i32_7b8ac2ab", is_alone=True) == "add_kernel"

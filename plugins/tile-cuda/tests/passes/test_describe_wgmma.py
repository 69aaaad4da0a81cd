"""describe_wgmma: the header's macro is instantiated once for each shape of wgmma, before its first use."""

from __future__ import annotations

import tilecore.language as T
from tilecore.testing.kernel_text import text

from .kernels import product, scaled
from .one_pass import AMPERE, around_pass

PASS = "describe_wgmma"


def preludes(module):
    return [str(func.attrs.get("tile.prelude") or "") for func in module.functions.values()]


def test_a_shape_is_a_line_of_the_prelude():
    before, after, _ = around_pass(product(), PASS)
    assert preludes(before) == [""]
    assert preludes(after) == ["TC_WGMMA(64, 16, f16, f16, f32)"]
    assert text(before) == text(after)


def test_each_shape_stands_before_the_first_kernel_that_uses_it():
    """Also behind a prelude of the user's own, which comes last and once."""

    @T.prim_func
    def kernels(A: T.Tensor((64, 64), "float16"), C: T.Tensor((64, 64), "float32")):
        for columns in [64, 32, 64]:
            with T.Kernel(1, threads=128):
                T.import_source("// of the user")
                a = T.alloc_shared((64, 64), "float16")
                b = T.alloc_shared((64, columns), "float16")
                c = T.alloc_fragment((64, columns), "float32")
                T.copy(A, a)
                T.copy(A[0:64, 0:columns], b)
                T.gemm(a, b, c, clear_accum=True)
                T.copy(c, C[0:64, 0:columns])

    _, after, _ = around_pass(kernels, PASS)
    assert preludes(after) == [
        "TC_WGMMA(64, 16, f16, f16, f32)\n// of the user",
        "TC_WGMMA(32, 16, f16, f16, f32)",
        "",
    ]


def test_kernels_without_wgmma_stay_as_they_are():
    for kernel, target in ((scaled, "cuda -arch=sm_90a"), (product(), AMPERE)):
        _, after, _ = around_pass(kernel, PASS, target)
        assert preludes(after) == [""]
        assert all("tile.prelude" not in func.attrs for func in after.functions.values())

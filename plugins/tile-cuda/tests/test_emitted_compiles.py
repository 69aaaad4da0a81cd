"""Emitted kernels compile for every architecture; ``nox -s emitted`` does it for all that the tests emit."""

from __future__ import annotations

import pytest
from compile_emitted import ARCHITECTURES, Emitted, compile_all, main
from tile_cuda import architectures, nvcc

import tilecore
from tilecore.errors import ToolchainError

PLAIN = """// cuda -arch=sm_80
#include "tilecore_cuda.h"

extern "C" __global__ void __launch_bounds__(32) k(float* A) {
  A[threadIdx.x] = 1.0f;
}
"""


@pytest.fixture(scope="module", autouse=True)
def tool():
    try:
        return nvcc.load()
    except ToolchainError as error:
        pytest.skip(error.message)


def emitted(name: str, text: str, least: int = 80) -> Emitted:
    return Emitted(name, text, least)


def test_kernels_of_one_name_share_a_unit():
    """With functions of the user's own that have one name too."""
    function = "__device__ float twice(float x) { return {} * x; }\n"
    sources = [
        emitted(f"{i}.cu", PLAIN.replace("\n\nextern", "\n\n" + function.replace("{} *", f"{i} *") + "extern", 1))
        for i in range(3)
    ]
    report = compile_all([*sources, emitted("plain.cu", PLAIN)], ["sm_80"])
    assert (report.compiled, report.refused) == (4, [])
    assert sorted((k.file, k.kernel) for k in report.usages) == [(f"{s}.cu", "k") for s in (0, 1, 2, "plain")]
    assert all(k.registers > 0 and not k.stack for k in report.usages)


def test_refused_sources_are_reported():
    wrong = emitted("wrong.cu", PLAIN.replace("A[threadIdx.x]", "B[0]"))
    report = compile_all([emitted("fine.cu", PLAIN), wrong], ["sm_80"])
    assert report.compiled == 1
    ((file, arch, messages),) = report.refused
    assert (file, arch) == ("wrong.cu", "sm_80")
    assert '"B" is undefined' in messages


def test_a_stack_is_reported():
    body = """  float kept[64] = {};
  for (int i = 0; i < 99; ++i) kept[(int)A[i] % 64] += A[i];
  A[threadIdx.x] = kept[(int)A[99] % 64];
"""
    text = PLAIN.replace("  A[threadIdx.x] = 1.0f;\n", body)
    report = compile_all([emitted("stack.cu", text)], ["sm_80"])
    (usage,) = report.in_local_memory()
    assert usage.stack >= 256


def test_an_older_architecture_is_left_out(tmp_path, capsys):
    tmp_path.joinpath("k.cu").write_text(PLAIN.replace("sm_80", "sm_90"))
    assert main([str(tmp_path), "--arch", "sm_80"]) == 1
    assert main([str(tmp_path), "--arch", "sm_90a"]) == 0
    assert "1 compiled, 0 refused" in capsys.readouterr().out


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_one_kernel_of_each_kind(installed, tool, arch):
    """A pipelined product, a reduction over warps, a stencil: compiled as they are emitted for the architecture."""
    from test_planted_in_kernels import product, softmax, stencil

    if architectures.parse(arch).capability not in tool.architectures():
        pytest.skip(f"nvcc {tool.version} does not know {arch}")
    sources = []
    for func in (product, softmax, stencil):
        kernel = tilecore.compile(func, target=f"cuda -arch={arch}", execution_backend="sim")
        sources.append(emitted(func.__name__, kernel.get_kernel_source(), architectures.parse(arch).capability))
    report = compile_all(sources, [arch])
    assert (report.compiled, report.refused) == (3, [])
    assert not report.in_local_memory()

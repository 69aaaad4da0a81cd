"""wgmma in all layouts on an sm_90a GPU, with the results of the simulated device."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_artifacts import artifact
from test_on_gpu import needs
from tile_cuda import nvrtc, toolchain
from tile_cuda.adapter import DriverAdapter
from warpgroup_products import TILE_BYTES, Layout, Product, layouts, problem, types, value_kernel

from tilecore.artifact.records import Entry, TensorParam
from tilecore.runtime.launcher import Launcher

PLAIN = Layout(1, False, 16, 1024)


@pytest.fixture(scope="module")
def torch():
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("no GPU")
    return module


def cases() -> dict[str, tuple[Product, Layout, Layout, bool, bool]]:
    cases_by_name = {}
    for kind in types():
        for n in (8, 80):
            for a_in_registers in (False, True):
                cases_by_name[f"{Product(n, *kind).name} a_in_registers={a_in_registers}"] = (
                    Product(n, *kind),
                    PLAIN,
                    PLAIN,
                    n == 8,
                    a_in_registers,
                )
    for kind in (("f16", "f16", "f32"), ("tf32", "tf32", "f32"), ("s8", "u8", "s32")):
        product = Product(128, *kind)
        size = 32 // product.k
        for turned in (False, True) if size == 2 else (False,):
            for layout in layouts(64, size, turned):
                cases_by_name[f"{product.name} A {layout}"] = (product, layout, PLAIN, True, False)
            for layout in layouts(128, size, turned):
                cases_by_name[f"{product.name} B {layout}"] = (product, PLAIN, layout, True, False)
    return cases_by_name


def bytes_of(torch, array: np.ndarray):
    return torch.from_numpy(np.ascontiguousarray(array).view(np.uint8).reshape(-1).copy()).cuda()


def test_every_type_and_layout(torch):
    """All kernels are in one cubin, which compiles in a second. Tensors are passed as bytes."""
    needs(torch, (9, 0), "a product of a warpgroup")
    problems, sources = {}, {}
    for name, (product, of_a, of_b, add, a_in_registers) in cases().items():
        symbol, source = value_kernel(product, of_a.turned, of_b.turned, a_in_registers)
        sources[symbol] = source
        problems[name] = symbol, problem(product, of_a, of_b, add)
    macros = list(dict.fromkeys(s.partition("\n")[0] for s in sources.values()))
    bodies = [s.partition("\n")[2] for s in sources.values()]
    text = "\n".join(['#include "tilecore_cuda.h"', *macros, *bodies])
    options = ["--gpu-architecture=sm_90a", "--std=c++17"]
    binary, messages = nvrtc.load().compile(text, toolchain.headers(), options)
    assert binary is not None, messages[:3000]
    adapter, wrong = DriverAdapter(), []
    for name, (symbol, (arguments, expected)) in problems.items():
        sizes = [a.nbytes for a in arguments]
        params = tuple(
            TensorParam(key, "uint8", (size,), access="rw" if key == "C" else "r", align=4)
            for key, size in zip("ABHCl", sizes, strict=True)
        )
        entry = Entry(symbol, (1, 1, 1), (128, 1, 1), 2 * TILE_BYTES)
        kernel = artifact(params=params, entries=(entry,), source=text, binary=binary)
        tensors = [bytes_of(torch, a) for a in arguments]
        Launcher(kernel, adapter.load(kernel), adapter, 2)(*tensors)
        got = tensors[3].cpu().numpy().view(expected.dtype).reshape(expected.shape)
        if not np.array_equal(got.astype(np.float64), expected.astype(np.float64)):
            wrong.append(name)
    assert not wrong, f"{len(wrong)} of {len(problems)}: {wrong}"

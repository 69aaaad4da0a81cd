"""On an sm_90a GPU: products of a warpgroup in all layouts, as on the simulated device."""

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
    found = {}
    for kind in types():
        for n in (8, 80):
            for held in (False, True):
                found[f"{Product(n, *kind).name} held={held}"] = (Product(n, *kind), PLAIN, PLAIN, n == 8, held)
    for kind in (("f16", "f16", "f32"), ("tf32", "tf32", "f32"), ("s8", "u8", "s32")):
        product = Product(128, *kind)
        size = 32 // product.k
        for turned in (False, True) if size == 2 else (False,):
            for layout in layouts(64, size, turned):
                found[f"{product.name} A {layout}"] = (product, layout, PLAIN, True, False)
            for layout in layouts(128, size, turned):
                found[f"{product.name} B {layout}"] = (product, PLAIN, layout, True, False)
    return found


def bytes_of(torch, array: np.ndarray):
    return torch.from_numpy(np.ascontiguousarray(array).view(np.uint8).reshape(-1).copy()).cuda()


def test_every_type_and_layout(torch):
    """In one cubin, which compiles in a second. Tensors travel as bytes."""
    needs(torch, (9, 0), "a product of a warpgroup")
    made, sources = {}, {}
    for name, (product, of_a, of_b, add, held) in cases().items():
        symbol, source = value_kernel(product, of_a.turned, of_b.turned, held)
        sources[symbol] = source
        made[name] = symbol, problem(product, of_a, of_b, add)
    macros = list(dict.fromkeys(s.partition("\n")[0] for s in sources.values()))
    bodies = [s.partition("\n")[2] for s in sources.values()]
    text = "\n".join(['#include "tilecore_cuda.h"', *macros, *bodies])
    options = ["--gpu-architecture=sm_90a", "--std=c++17"]
    binary, said = nvrtc.load().compile(text, toolchain.headers(), options)
    assert binary is not None, said[:3000]
    adapter, wrong = DriverAdapter(), []
    for name, (symbol, (given, wanted)) in made.items():
        sizes = [a.nbytes for a in given]
        params = tuple(
            TensorParam(key, "uint8", (size,), access="rw" if key == "C" else "r", align=4)
            for key, size in zip("ABHCl", sizes, strict=True)
        )
        entry = Entry(symbol, (1, 1, 1), (128, 1, 1), 2 * TILE_BYTES)
        kernel = artifact(params=params, entries=(entry,), source=text, binary=binary)
        tensors = [bytes_of(torch, a) for a in given]
        Launcher(kernel, adapter.load(kernel), adapter, 2)(*tensors)
        got = tensors[3].cpu().numpy().view(wanted.dtype).reshape(wanted.shape)
        if not np.array_equal(got.astype(np.float64), wanted.astype(np.float64)):
            wrong.append(name)
    assert not wrong, f"{len(wrong)} of {len(made)}: {wrong}"

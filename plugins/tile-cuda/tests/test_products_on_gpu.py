"""On an sm_90a GPU: products of a warpgroup in all layouts, and boxes that are narrower than their swizzle, as on the
simulated device."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_artifacts import artifact
from test_on_gpu import needs
from tile_cuda import nvrtc, toolchain
from tile_cuda.adapter import DriverAdapter
from warpgroup_products import TILE_BYTES, Layout, Product, layouts, problem, types, value_kernel

from tilecore.runtime.artifact import Entry, TensorParam
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


@pytest.mark.parametrize(("swizzle", "columns"), [("64B", 8), ("128B", 8), ("128B", 16)])
def test_boxes_narrower_than_their_swizzle(torch, swizzle, columns):
    """Rows stand one behind the other, and pieces change places by their address."""
    from gpu_kernels import kernel
    from test_on_gpu import BOX
    from test_simulated_tensor_copies import tile_of
    from tile_cuda.launch.tensor_maps import TensorMap

    from tilecore.runtime.artifact import ScalarParam

    needs(torch, (9, 0), "a tensor copy")
    count = columns * 64
    made = TensorMap(0, "float32", (60, 100), (240,), (columns, 64), swizzle=swizzle, name="A")
    params = (
        TensorParam("A", "float32", (100, 60), access="r"), TensorParam("B", "float32", (1024,), access="w", align=16),
        ScalarParam("x", "int32"), ScalarParam("y", "int32"),
    )  # fmt: skip
    source = BOX.replace("arrive_expect(barrier, 4096)", f"arrive_expect(barrier, {count * 4})")
    run = kernel(
        source, "box_kernel", params=params, grid=(1, 1, 1), shared_bytes=4096 + 16,
        attributes={"tensor_maps": [made.to_json()]},
    )  # fmt: skip
    a, b = torch.randn(100, 60, device="cuda"), torch.zeros(1024, device="cuda")
    run(a, b, 4, 3)
    box = a[3:67, 4 : 4 + columns].cpu().numpy()
    np.testing.assert_array_equal(b.cpu().numpy()[:count], tile_of(box, swizzle))

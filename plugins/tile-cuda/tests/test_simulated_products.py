"""wgmma on the simulated device: every type and layout, and the errors that it reports."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_kit import needs_compiler, run
from warpgroup_products import TILE_BYTES, Layout, Product, layouts, problem, types, value_kernel

pytestmark = needs_compiler
PLAIN = Layout(1, False, 16, 1024)


def computed(
    product: Product, of_a: Layout, of_b: Layout, add: bool = True, a_in_registers: bool = False, seed: int = 0
):
    symbol, source = value_kernel(product, of_a.turned, of_b.turned, a_in_registers)
    arguments, expected = problem(product, of_a, of_b, add)
    names = zip("ABHCl", arguments, ("r", "r", "r", "rw", "r"), strict=True)
    run(source, symbol, 128, *names, shared=2 * TILE_BYTES, seed=seed)
    return arguments[3], expected


@pytest.mark.parametrize("a_in_registers", [False, True], ids=["tiles", "registers"])
@pytest.mark.parametrize("kind", [*types()], ids="_".join)
def test_every_type(kind, a_in_registers):
    for n, add in ((8, True), (80, False)):
        got, expected = computed(Product(n, *kind), PLAIN, PLAIN, add, a_in_registers)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("turned", [False, True], ids=["by k", "turned"])
@pytest.mark.parametrize("kind", [("f16", "f16", "f32"), ("tf32", "tf32", "f32"), ("s8", "u8", "s32")], ids="_".join)
def test_every_layout(kind, turned):
    product = Product(128, *kind)
    size = 32 // product.k
    if turned and size != 2:
        pytest.skip("only tiles of 16-bit elements turn")
    for layout in layouts(64, size, turned):
        np.testing.assert_array_equal(*computed(product, layout, PLAIN), err_msg=f"A {layout}")
    for layout in layouts(128, size, turned):
        np.testing.assert_array_equal(*computed(product, PLAIN, layout), err_msg=f"B {layout}")


@pytest.mark.parametrize("n", [16, 24, 192, 256])
def test_sizes(n):
    for a_in_registers in (False, True):
        np.testing.assert_array_equal(
            *computed(Product(n, "f16", "f16", "f32"), PLAIN, PLAIN, True, a_in_registers, seed=n)
        )

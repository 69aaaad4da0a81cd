"""Rows over the blocks of a cluster: examples/softmax.py and rms_norm.py on the simulated device, beside torch."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from simulated_kit import needs_compiler

import tilecore

EXAMPLES = Path(__file__).parents[3] / "examples"
FAST = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
torch = pytest.importorskip("torch")


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"rows_example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def simulated(func, configs=None):
    return tilecore.compile(
        func, target="cuda -arch=sm_90a", execution_backend="sim", out_idx=-1, pass_configs=configs or {}
    )


SIZES = [
    (3, 4096, 4, "float16"),
    (2, 1000, 2, "bfloat16"),  # a part of 63 pieces and one of 62
    (2, 2051, 2, "float32"),  # rows begin anywhere
    (1, 777, 8, "float16"),
    (3, 1, 2, "float32"),  # one column: a block has none
    (2, 9, 8, "bfloat16"),  # two blocks of eight have columns
]


@needs_compiler
@pytest.mark.parametrize(("rows", "columns", "blocks", "dtype"), SIZES)
@pytest.mark.parametrize("kept", [None, "float32"])
def test_softmax(rows, columns, blocks, dtype, kept):
    module = example("softmax")
    kernel = simulated(
        module.softmax_over_clusters(rows, columns, blocks, threads=64, kept=kept, dtype=dtype),
        FAST if kept is None else {},
    )
    torch.manual_seed(columns)
    x = (torch.randn(rows, columns) * 8).to(getattr(torch, dtype))
    x[0, columns // 2] = 30
    torch.testing.assert_close(kernel(x), torch.softmax(x, dim=1))


@needs_compiler
@pytest.mark.parametrize(("rows", "columns", "blocks", "dtype"), SIZES)
def test_rms_norm(rows, columns, blocks, dtype):
    kernel = simulated(example("rms_norm").rms_norm_over_clusters(rows, columns, blocks, threads=64, dtype=dtype))
    torch.manual_seed(columns)
    x, w = (torch.randn(shape).to(getattr(torch, dtype)) for shape in ((rows, columns), (columns,)))
    expected = torch.nn.functional.rms_norm(x.float(), (columns,), w.float(), 1e-6)
    tolerance = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 1e-2}[dtype]
    torch.testing.assert_close(kernel(x, w).float(), expected, rtol=tolerance, atol=tolerance)


@needs_compiler
@pytest.mark.parametrize(("columns", "dtype"), [(9001, "float16"), (8200, "bfloat16")])
def test_softmax_of_rows_in_their_own_type(columns, dtype):
    x = torch.randn(2, columns).to(getattr(torch, dtype))
    y = simulated(example("softmax").softmax_of_long_rows(2, columns, dtype=dtype), FAST)(x)
    torch.testing.assert_close(y, torch.softmax(x, dim=1))


@needs_compiler
def test_values_that_are_not_finite():
    """As torch: -inf is a probability of 0; a row of nothing else, or with inf or NaN, has no probabilities."""
    inf, nan = float("inf"), float("nan")
    x = torch.zeros(4, 600, dtype=torch.float16)
    x[0, :450] = -inf  # the first block, and a part of the second one
    x[1, :] = -inf
    x[2, 500] = inf
    x[3, 3] = nan
    y = simulated(example("softmax").softmax_over_clusters(4, 600, 2, threads=64, dtype="float16"))(x)
    expected = torch.softmax(x, dim=1)
    torch.testing.assert_close(y[0], expected[0])
    assert expected[1:].isnan().any(dim=1).all()
    assert y[1:].isnan().any(dim=1).all()


@needs_compiler
@pytest.mark.parametrize("seed", range(3))
def test_other_orders_of_threads_and_blocks(seed, monkeypatch):
    monkeypatch.setenv("TILECORE_SIMULATE_SEED", str(seed))
    x = torch.randn(2, 1040).half()
    y = simulated(example("softmax").softmax_over_clusters(2, 1040, 4, threads=32, dtype="float16"))(x)
    torch.testing.assert_close(y, torch.softmax(x, dim=1))


def name_of(func) -> str:
    return str(func.ir.attrs["global_symbol"])


@pytest.mark.parametrize(
    ("columns", "dtype", "clusters", "without"),
    [
        (8192, "float16", "softmax_kernel", "softmax_kernel"),
        (16384, "float16", "softmax_of_long_rows_kernel", "softmax_in_pieces_kernel"),
        (16385, "float16", "softmax_over_clusters_kernel", "softmax_in_pieces_kernel"),
        (32769, "float16", "softmax_over_clusters_kernel", "softmax_of_endless_rows_kernel"),
        (262144, "float16", "softmax_over_clusters_kernel", "softmax_of_endless_rows_kernel"),
        (262145, "float16", "softmax_of_endless_rows_kernel", "softmax_of_endless_rows_kernel"),
        (16384, "bfloat16", "softmax_of_long_rows_kernel", "softmax_in_pieces_kernel"),
        (32768, "bfloat16", "softmax_over_clusters_kernel", "softmax_in_pieces_kernel"),
        (16384, "float32", "softmax_in_pieces_kernel", "softmax_in_pieces_kernel"),
        (32768, "float32", "softmax_over_clusters_kernel", "softmax_in_pieces_kernel"),
        (65536, "float32", "softmax_over_clusters_kernel", "softmax_of_endless_rows_kernel"),
    ],
)
def test_the_form_of_softmax_by_the_length_of_a_row(columns, dtype, clusters, without):
    module = example("softmax")
    assert name_of(module.softmax(4, columns, dtype, clusters=True)) == clusters
    assert name_of(module.softmax(4, columns, dtype)) == without


@pytest.mark.parametrize("columns", [16385, 20000, 32768, 32775, 65536, 65537, 100000, 131072, 200000, 262144])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_the_part_of_a_row_that_a_thread_keeps(columns, dtype):
    """At most as many columns as fit into the registers of so many resident blocks."""
    softmax = example("softmax")
    if columns > softmax.MOST_COLUMNS[dtype]:
        return
    part = softmax.part_of_rows(columns, dtype)
    of_thread = columns / part["blocks"] / part["threads"]
    assert of_thread <= (64 if part.get("kept") == "float16" else 33)
    assert part["blocks"] in (2, 4, 8)
    assert part["threads"] * part["resident"] <= 1024


@pytest.mark.parametrize(
    ("columns", "dtype", "clusters"),
    [
        (16384, "float16", "rms_norm_kernel"),
        (16385, "float16", "rms_norm_over_clusters_kernel"),
        (131072, "bfloat16", "rms_norm_over_clusters_kernel"),
        (131073, "bfloat16", "rms_norm_of_endless_rows_kernel"),
    ],
)
def test_the_form_of_rms_norm_by_the_length_of_a_row(columns, dtype, clusters):
    assert name_of(example("rms_norm").rms_norm(4, columns, dtype=dtype, clusters=True)) == clusters


@pytest.mark.parametrize(
    ("target", "answer"),
    [("cuda -arch=sm_90a", True), ("cuda -arch=sm_120", True), ("cuda -arch=sm_80", False), ("cpu", False)],
)
def test_targets_with_clusters(target, answer):
    assert example("softmax").has_clusters(target) is answer
    assert example("rms_norm").has_clusters(target) is answer

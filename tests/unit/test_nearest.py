"""Which known name is meant by a misspelt one."""

from __future__ import annotations

import pytest

from tilecore.nearest import did_you_mean, nearest

BLOCKS = ("block_M", "block_N", "block_K")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("block_m", BLOCKS, "block_M"),
        ("block_n", BLOCKS, "block_N"),
        ("BLOCK_K", BLOCKS, "block_K"),
        ("blok_m", BLOCKS, "block_M"),
        ("GEMM", ("gemm", "fill"), "gemm"),
        ("tensr", ("Tensor", "tensor"), "tensor"),
        ("Tensr", ("Tensor", "tensor"), "Tensor"),
        ("coppy", ("copy", "clear"), "copy"),
        ("stages", BLOCKS, None),
        ("m", (), None),
    ],
)
def test_case_counts_less_than_letters(name, known, meant):
    assert nearest(name, known) == meant
    assert nearest(name, iter(known)) == meant
    assert did_you_mean(name, known, "T.{}") == (meant and f"did you mean T.{meant}?")

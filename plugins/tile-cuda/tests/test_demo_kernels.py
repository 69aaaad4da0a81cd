"""``tilecore demo`` on GPUs old and new: its kernels fit all of them."""

from __future__ import annotations

import pytest

import tilecore
from tilecore.demo.cases import cases

CASES = {f"{case.name}-{case.size}": case for quick in (False, True) for case in cases(quick)}


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("arch", ["sm_75", "sm_86", "sm_90a"])
@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_a_kernel_of_the_demo_compiles(case, arch):
    assert tilecore.compile(case.kernel.get_tir(**case.values), target=f"cuda -arch={arch}").get_kernel_source()

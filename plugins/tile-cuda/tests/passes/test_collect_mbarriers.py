"""collect_mbarriers: collects the arrivals of each mbarrier; refuses forms that the architecture lacks."""

from __future__ import annotations

import pytest
from tile_cuda.lowering.state import ExplicitBarriers

import tilecore.language as T
from tilecore.errors import UnsupportedError
from tilecore.testing.kernel_text import text

from .kernels import loaded_by_tma, meet, scaled
from .one_pass import AMPERE, around_pass

PASS = "collect_mbarriers"


def collected(env):
    return {str(buffer.name): counts for buffer, counts in env.state(ExplicitBarriers).arrivals.items()}


@pytest.mark.parametrize("barriers", [(1,), (1, 128), (128, 1, 32)])
def test_the_arrivals_of_each_mbarrier_become_a_fact(barriers):
    before, after, env = around_pass(loaded_by_tma(barriers=barriers), PASS)
    assert collected(env) == {"full": list(barriers)}
    assert env.state(ExplicitBarriers).in_clusters == set()
    assert text(before) == text(after)


def test_mbarriers_of_kernels_with_clusters_are_noted():
    @T.prim_func
    def two_kernels(X: T.Tensor((64,), "float32")):
        with T.Kernel(2, threads=32, cluster_dims=2):
            remote = T.alloc_barrier([2])
            meet(remote, 1)
            X[0] = 1.0
        with T.Kernel(1, threads=32):
            local = T.alloc_barrier([32])
            meet(local)
            X[1] = 1.0

    _, _, env = around_pass(two_kernels, PASS)
    assert collected(env) == {"remote": [2], "local": [32]}
    assert {str(buffer.name) for buffer in env.state(ExplicitBarriers).in_clusters} == {"remote"}


@pytest.mark.parametrize("target", [AMPERE, "cuda -arch=sm_90a"])
def test_kernels_without_explicit_forms_leave_no_facts(target):
    before, after, env = around_pass(scaled, PASS, target)
    assert not env.state(ExplicitBarriers).arrivals
    assert text(before) == text(after)


def test_an_architecture_without_the_forms_is_refused_at_the_line():
    with pytest.raises(UnsupportedError, match="sm_80") as caught:
        around_pass(loaded_by_tma(), PASS, AMPERE)
    assert "cuda -arch=sm_90a" in str(caught.value)
    assert "kernels.py" in str(caught.value)


def test_a_loop_of_one_stage_holds_explicit_copies():
    _, _, env = around_pass(loaded_by_tma(1), PASS)
    assert collected(env) == {"full": [1, 1]}

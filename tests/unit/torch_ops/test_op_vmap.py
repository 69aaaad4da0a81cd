"""Operations under torch.vmap: by a loop, by a rule of one's own, and without a rule."""

from __future__ import annotations

import warnings

import pytest
from op_kernels import add_into, compiled, fresh_name, multiplied, scale, scaled, sum_and_difference

from tilecore.errors import UnsupportedError
from tilecore.torch_ops.batching import VmapWarning

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("axis", [0, 1])
def test_vmap_by_a_loop(axis):
    a, b = torch.randn(3, 5), torch.randn(5)
    mapped = torch.vmap(multiplied(), in_dims=(axis, None))(a if axis == 0 else a.T.contiguous(), b)
    torch.testing.assert_close(mapped, a * b)


def test_vmap_of_several_results_and_of_numbers():
    op = compiled(sum_and_difference, [2, 3]).torch_op(fresh_name(), vmap="loop")
    a, b = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
    total, difference = torch.vmap(op)(a, b)
    torch.testing.assert_close(total, a + b)
    torch.testing.assert_close(difference[:, :3, :4], (a - b).half())
    torch.testing.assert_close(torch.vmap(lambda x: scaled()(x, 2.0))(a[0]), a[0] * 2)


def test_vmap_of_arguments_that_are_written():
    op = compiled(add_into).torch_op(fresh_name(), vmap="loop")
    a, c = torch.randn(2, 8, 3), torch.zeros(2, 8, 3)
    torch.vmap(lambda x, y: (op(x, 2, y), y)[1])(a, c)
    torch.testing.assert_close(c, 2 * a)


def test_a_mapped_axis_without_elements():
    assert torch.vmap(multiplied(), in_dims=(0, None))(torch.ones(0, 5), torch.ones(5)).shape == (0, 5)
    op = compiled(sum_and_difference, [2, 3]).torch_op(fresh_name(), vmap="loop")
    total, difference = torch.vmap(op, in_dims=(1, 0))(torch.ones(3, 0, 4), torch.ones(0, 3, 4))
    assert (total.shape, difference.shape, difference.dtype) == ((0, 3, 4), (0, 4, 8), torch.float16)
    into = compiled(add_into).torch_op(fresh_name(), vmap="loop")
    torch.vmap(lambda x, y: (into(x, 2, y), y)[1])(torch.ones(0, 8, 3), torch.ones(0, 8, 3))


def test_a_rule_of_ones_own():
    def rule(info, in_dims, a, s):
        return (a * s + info.batch_size), 0

    op = compiled(scale, -1).torch_op(fresh_name(), vmap=rule)
    assert torch.vmap(lambda x: op(x, 2.0))(torch.ones(3, 2)).tolist() == [[5, 5]] * 3


# -- without a rule --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1])
def test_without_a_rule_the_loop_warns(axis):
    """Torch's own loop would refuse elements that are not contiguous, and ask for a report to torch."""
    name = fresh_name()
    op, a = compiled(scale, -1).torch_op(name), torch.randn(3, 5)
    with pytest.warns(VmapWarning, match=f"{name} has no rule of vmap") as caught:
        mapped = torch.vmap(lambda x: op(x, 2.0), in_dims=axis)(a)
    torch.testing.assert_close(mapped, (a if axis == 0 else a.T) * 2)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert 'vmap="loop"' in str(caught[0].message)


def test_with_a_rule_nothing_warns():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.vmap(lambda x: scaled()(x, 2.0))(torch.ones(3, 5))


def test_arguments_that_are_written_without_a_rule():
    op = compiled(add_into).torch_op(fresh_name())
    a, c = torch.randn(2, 8, 3), torch.zeros(2, 8, 3)
    with pytest.warns(VmapWarning):
        torch.vmap(lambda x, y: (op(x, 2, y), y)[1])(a, c)
    torch.testing.assert_close(c, 2 * a)
    with pytest.warns(VmapWarning), pytest.raises(UnsupportedError, match="writes C, which vmap does not map"):
        torch.vmap(lambda x: op(x, 2, c[0]))(a)


def test_compiled_programs_without_a_rule():
    op, a = compiled(scale, -1).torch_op(fresh_name()), torch.randn(3, 5)
    program = torch.compile(lambda x: torch.vmap(lambda row: op(row, 2.0))(x), fullgraph=True, backend="eager")
    with pytest.warns(VmapWarning):
        torch.testing.assert_close(program(a), a * 2)

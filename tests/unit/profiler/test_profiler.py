"""Profiler: inputs, checks that fail when they should, and times."""

from __future__ import annotations

import numpy as np
import pytest

import tilecore.language as T
from tilecore.errors import ArgumentError
from tilecore.jit.compile import compile
from tilecore.profiler import Profiler, TensorSupplyType, rotation
from tilecore.profiler.profiler import operations
from tilecore.profiler.rotation import rotating

torch = pytest.importorskip("torch")
KINDS = ["returning", "in_place"]


@pytest.fixture(params=KINDS)
def profiler(request):
    return request.getfixturevalue(request.param).get_profiler(TensorSupplyType.Integer)


def right(a, b, *c):
    return 2 * a + b


def wrong(a, b, *c):
    result = 2 * a + b
    result[1, 3] += 7
    return result


def test_inputs_are_the_arguments_of_a_call(returning, in_place):
    assert [tuple(t.shape) for t in returning.get_profiler()._get_inputs()] == [(4, 8)] * 2
    assert len(returning.get_profiler()._get_inputs(with_output=True)) == 3
    assert len(in_place.get_profiler()._get_inputs()) == 3
    profiler = returning.get_profiler()
    assert (profiler.supply_type, profiler.result_idx) == (TensorSupplyType.Auto, [2])
    assert [p.name for p in profiler._get_params()] == ["A", "B"]
    assert [p.name for p in profiler.params] == ["A", "B", "C"]


def test_a_right_kernel_passes(profiler):
    profiler.assert_allclose(right, atol=0, rtol=0)


def test_a_wrong_element_fails(profiler):
    with pytest.raises(AssertionError, match=r"scaled_sum: C: 1 of 32 elements differ") as caught:
        profiler.assert_allclose(wrong)
    assert "at (1, 3)" in str(caught.value)
    profiler.assert_allclose(wrong, max_mismatched_ratio=0.05)


def test_a_reference_may_write_in_place(in_place):
    def into(a, b, c):
        c[...] = 2 * a + b

    def into_wrong(a, b, c):
        c[...] = a

    profiler = in_place.get_profiler()
    profiler.assert_allclose(into)
    with pytest.raises(AssertionError, match="scaled_sum: C"):
        profiler.assert_allclose(into_wrong)


def test_a_reference_that_does_nothing_proves_nothing(returning, in_place):
    with pytest.raises(ArgumentError, match="returned nothing and changed none"):
        in_place.get_profiler().assert_allclose(lambda a, b, c: None)
    with pytest.raises(ArgumentError, match=r"returned 0 tensors(.|\n)*expected: 1 \(C\)"):
        returning.get_profiler().assert_allclose(lambda a, b: None)
    with pytest.raises(ArgumentError, match="returned 2 tensors"):
        returning.get_profiler().assert_allclose(lambda a, b: (a, b))


def test_programs_do_not_see_each_others_changes(in_place):
    """The reference overwrites its inputs; the kernel must still see the originals."""

    def destructive(a, b, c):
        result = 2 * a + b
        a.zero_()
        b.zero_()
        return result

    inputs = [torch.ones(4, 8), torch.ones(4, 8), torch.zeros(4, 8)]
    in_place.get_profiler().assert_allclose(destructive, input_tensors=inputs)
    assert inputs[0].sum() == 32
    assert inputs[2].sum() == 0, "the given tensors are left as they were"


def test_scratch_that_only_the_kernel_writes_is_not_compared():
    @T.prim_func
    def with_scratch(A: T.Tensor((8,), "int32"), S: T.Tensor((8,), "int32"), B: T.Tensor((8,), "int32")):
        with T.Kernel(1):
            for i in T.Parallel(8):
                S[i] = A[i] + 5
            for i in T.Parallel(8):
                B[i] = S[i] - 4

    in_place = compile(with_scratch, target="cpu").get_profiler()

    def reference(a, s, b):
        b[...] = a + 1

    in_place.assert_allclose(reference)
    with pytest.raises(AssertionError, match="B: 8 of 8"):
        in_place.assert_allclose(lambda a, s, b: reference(a + 1, s, b))
    returns = compile(with_scratch, out_idx=-1, target="cpu").get_profiler()
    returns.assert_allclose(lambda a, s: a + 1)
    returns.assert_allclose(lambda a, s: (a + 1, a + 5))
    with pytest.raises(AssertionError, match="S: 8 of 8"):
        returns.assert_allclose(lambda a, s: (a + 1, a + 6))


def test_input_tensors_are_counted(returning):
    with pytest.raises(ArgumentError, match=r"1 input_tensors(.|\n)*2: A, B"):
        returning.get_profiler().assert_allclose(right, input_tensors=[torch.zeros(4, 8)])


def test_manual_checks_get_both_sides(profiler):
    seen = []
    profiler.manual_assert_close(wrong, manual_check_prog=lambda mine, theirs: seen.extend([mine, theirs]))
    ((mine,), (theirs,)) = seen
    assert (mine != theirs).sum() == 1
    with pytest.raises(ZeroDivisionError):
        profiler.manual_assert_close(right, manual_check_prog=lambda mine, theirs: 1 / 0)
    with pytest.raises(ArgumentError, match="needs a manual_check_prog"):
        profiler.manual_assert_close(right)


def test_consistency(profiler):
    profiler.assert_consistent(repeat=2)
    runs = iter(range(100))
    real = profiler.func

    def flaky(*inputs):
        output = real(*inputs)
        target = inputs[2] if output is None else output
        target[0, 0] += next(runs) > 1
        return output

    with pytest.raises(AssertionError, match=r"C of run 3: 1 of 32"):
        profiler.with_default_adapter(flaky).assert_consistent(repeat=4)


def test_running_once(returning):
    profiler = returning.get_profiler(TensorSupplyType.One)
    assert profiler.run_once().tolist() == [[3.0] * 8] * 4
    assert profiler.run_once(lambda a, b: float((a + b).sum())) == 64.0
    assert profiler(torch.zeros(4, 8), torch.ones(4, 8)).sum() == 32
    assert profiler.with_default_adapter(lambda a, b: "replaced").run_once() == "replaced"


def test_sizes_known_only_at_a_call(dynamic):
    profiler = dynamic.get_profiler(TensorSupplyType.One)
    sizes = {"n": 5, "m": 3, "step": 4}
    a, c, step = profiler._get_inputs(dynamic_symbolic_constraints=sizes)
    assert (tuple(a.shape), tuple(c.shape), step) == ((5,), (7,), 4)
    assert profiler.run_once(dynamic_symbolic_constraints=sizes).tolist() == [5.0] * 5
    profiler.assert_allclose(lambda a, c, step: a + step, dynamic_symbolic_constraints=sizes)
    assert profiler.do_bench(rep=1, warmup=0, dynamic_symbolic_constraints=sizes) > 0
    for method in (profiler.run_once, profiler.do_bench, profiler._get_inputs):
        with pytest.raises(ArgumentError, match="its sizes n, m are known only at a call"):
            method()


def test_times(profiler):
    assert 0 < profiler.do_bench(warmup=1, rep=2) < 1000
    low, high = profiler.do_bench(warmup=1, rep=2, quantiles=[0.1, 0.9])
    assert isinstance(profiler.do_bench(warmup=1, rep=2, quantiles=[0.5]), float), "one quantile is a number"
    assert 0 < low <= high
    calls = []
    profiler.do_bench(lambda *a: calls.append(a), n_warmup=2, n_repeat=3, fast_flush=False)
    assert len(calls) >= 1 + 5 + 2 + 3
    assert len({id(a) for a, *_ in calls}) == 1, "one set of inputs"


def test_the_device_of_a_measurement(returning, monkeypatch):
    profiler = returning.get_profiler()
    seen = []
    timer = type(returning.execution).timer
    monkeypatch.setattr(
        type(returning.execution), "timer", lambda self, index, backend: seen.append(index) or timer(self, 0, backend)
    )
    for device, index in ((None, 0), (0, 0), (2, 2), ("cpu", 0), ("cpu:1", 1), (torch.device("cpu"), 0)):
        seen.clear()
        assert profiler.do_bench(n_warmup=1, n_repeat=1, device=device) > 0
        assert set(seen) == {index}, device
    for device in ("chip:0", "cpu:x", torch.device("meta"), True):
        with pytest.raises(ArgumentError, match="does not run there"):
            profiler.do_bench(device=device)


def test_on_the_host_every_call_has_other_inputs(returning, monkeypatch):
    monkeypatch.setattr(rotation, "MOST_COPIES", 4)
    calls = []
    returning.get_profiler().do_bench(lambda a, b: calls.append((a, b)), n_warmup=9, n_repeat=9)
    addresses = {a.data_ptr() for a, _ in calls}
    assert len(addresses) == 4
    assert all(torch.equal(a, calls[0][0]) and torch.equal(b, calls[0][1]) for a, b in calls)


def test_copies_fill_what_a_flush_would():
    array = np.zeros(1 << 18, np.uint8)
    seen = set()
    call = rotating(lambda a, b: seen.add(a.__array_interface__["data"][0]), [array, 5], mebibytes=1)
    for _ in range(9):
        call()
    assert len(seen) == 4
    big = []
    rotating(lambda a: big.append(a), [array], mebibytes=0)()
    assert big[0] is array


def test_simulators_are_asked_for_little(returning, monkeypatch):
    inputs = returning.get_profiler()._get_inputs()
    work = operations(returning, inputs)
    assert work >= 64
    calls = []
    monkeypatch.setattr(type(returning.execution), "largest_run", lambda self: 3 * work)
    returning.get_profiler().do_bench(lambda *a: calls.append(1), n_repeat=50)
    assert len(calls) == 3
    calls.clear()
    monkeypatch.setattr(type(returning.execution), "largest_run", lambda self: 1)
    returning.get_profiler().do_bench(lambda *a: calls.append(1))
    assert len(calls) == 1


def test_operations_follow_the_sizes(dynamic):
    profiler = Profiler(dynamic)
    few, many = (
        operations(dynamic, profiler._get_inputs(dynamic_symbolic_constraints={"n": n, "m": 1, "step": 1}))
        for n in (10, 100_000)
    )
    assert many >= 100_000 > few

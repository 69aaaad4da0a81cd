"""do_bench: what is measured, how often, on which clock, and how the measurements are put together."""

from __future__ import annotations

import functools
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilecore.contract.adapter import KernelAdapter
from tilecore.contract.records import Presence
from tilecore.contract.timing import HostTimer
from tilecore.errors import ArgumentError, UnsupportedError
from tilecore.profiler import bench, clocks, do_bench, flush
from tilecore.profiler.clocks import Clock, clock_for, kernels_of
from tilecore.profiler.warning import ProfilerWarning


class FakeDevice:
    """A clock that stands still but for what the test's function says."""

    def __init__(self, on_host=False):
        self.now = 0.0
        self.flushes = []
        self.log = []
        device = self

        class Timer:
            def start(self):
                self.begin = device.now
                device.log.append("start")

            def stop(self):
                self.end = device.now
                device.log.append("stop")

            def elapsed(self):
                return self.end - self.begin

        self.clock = Clock(Timer, lambda: self.log.append("sync"), self.make_flush, on_host)

    def make_flush(self, size):
        def flush():
            self.log.append("flush")

        self.flushes.append(size)
        return flush

    def calls(self, *milliseconds):
        """A function whose calls take these times, over and over."""

        def call():
            self.log.append("call")
            self.now += milliseconds[(self.log.count("call") - 1) % len(milliseconds)]

        return call


@pytest.fixture
def device(monkeypatch):
    fake_device = FakeDevice()
    monkeypatch.setattr(bench, "clock_for", lambda *a: fake_device.clock)
    return fake_device


def test_each_measurement_begins_with_empty_caches(device):
    assert do_bench(device.calls(2.0), _n_warmup=3, _n_repeat=4) == 2.0
    measurement = ["flush", "start", "call", "stop"]
    measured = [*measurement * 5, "sync", *["call"] * 3, "sync", *measurement * 4, "sync"]
    assert device.log == [*measurement, "sync", *measured]
    assert device.flushes == [None], "the device's default size"


def test_caches_can_be_left_alone(device):
    do_bench(device.calls(1.0), fast_flush=False, _n_repeat=1)
    do_bench(device.calls(1.0), cache_size=0, _n_repeat=1)
    do_bench(device.calls(1.0), cache_size=7, _n_repeat=1)
    assert device.flushes == [0, 0, 7]


def test_results_are_put_together_as_asked(device):
    def measure(**options):
        device.log.clear()
        # 1 call, 5 for the estimate, 1 warm-up call: the four measurements are 1, 2, 3 and 6
        return do_bench(device.calls(9, 9, 9, 9, 9, 9, 9, 1, 2, 3, 6), _n_warmup=1, _n_repeat=4, **options)

    assert measure() == measure(return_mode="mean") == 3.0
    assert measure(return_mode="median") == 2.5
    assert (measure(return_mode="min"), measure(return_mode="max")) == (1, 6)
    assert measure(quantiles=[0, 0.5, 1]) == [1, 2.5, 6]
    assert measure(quantiles=[0.5]) == 2.5, "one quantile is a number"
    assert measure(quantiles=np.array([0.5])) == 2.5
    assert measure(quantiles=(0.5, 0.5)) == [2.5, 2.5], "two are a list"


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=30), st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_quantiles_are_numpys(times, quantiles):
    expected = np.quantile(times, quantiles if len(quantiles) > 1 else quantiles[0])
    assert isinstance(bench._result(times, quantiles, "mean"), float if len(quantiles) == 1 else list)
    np.testing.assert_allclose(bench._result(times, quantiles, "mean"), expected, rtol=1e-9, atol=1e-9)


def test_time_decides_how_often(monkeypatch):
    count = 0

    def call():
        nonlocal count
        count += 1
        time.sleep(0.002)

    assert do_bench(call, warmup=10, rep=40, fast_flush=False, device="cpu") >= 2.0
    # 1 + 5 calls, at most 5 to warm up, at most 20 measurements; few when the machine is busy
    assert 6 + 1 + 1 <= count <= 6 + 5 + 20


def test_a_slow_function_is_called_few_times():
    count = 0

    def call():
        nonlocal count
        count += 1
        time.sleep(0.03)

    do_bench(call, warmup=5, rep=20, fast_flush=False, device="cpu")
    assert count == 3


def test_fast_functions_are_called_several_times_for_one_measurement():
    count = 0

    def call():
        nonlocal count
        count += 1

    milliseconds = do_bench(call, _n_warmup=1, _n_repeat=3, fast_flush=False, device="cpu", return_mode="min")
    assert count > 3 * 5 + 7
    assert 0 < milliseconds < 0.01


def test_simulators_are_asked_seldom(device):
    assert do_bench(device.calls(5.0), max_calls=1) == 5.0
    assert device.log.count("call") == 1
    device.log.clear()
    assert do_bench(device.calls(5.0), max_calls=4, _n_repeat=9) == 5.0
    assert device.log.count("call") == 4
    assert do_bench(device.calls(5.0), max_calls=0) == 5.0


def test_what_is_slower_than_the_baseline_is_not_measured_further(device):
    assert do_bench(device.calls(5.0), early_stop_baseline=4.0) == 5.0
    assert device.log.count("call") == 6
    assert do_bench(device.calls(5.0), early_stop_baseline=4.0, quantiles=[0.1, 0.9]) == [5.0, 5.0]
    device.log.clear()
    do_bench(device.calls(5.0), early_stop_baseline=6.0, _n_warmup=1, _n_repeat=2)
    assert device.log.count("call") == 9


@pytest.mark.parametrize(
    "options",
    [
        {"return_mode": "mode"},
        {"warmup": -1},
        {"rep": -1},
        {"quantiles": [2]},
        {"quantiles": []},
        {"quantiles": 0.5},
        {"quantiles": "0.5"},
    ],
)
def test_wrong_arguments(options):
    with pytest.raises(ArgumentError, match=r"do_bench: \w+="):
        do_bench(lambda: None, **options)
    with pytest.raises(UnsupportedError, match="cannot time by 'sundial'"):
        do_bench(lambda: None, backend="sundial", device="cpu")


@pytest.mark.parametrize("backend", ["cupti", "cudagraph"])
def test_other_clocks_are_replaced_with_a_warning(backend):
    with pytest.warns(ProfilerWarning, match=rf'backend="{backend}" is not there') as caught:
        assert do_bench(lambda: sum(range(1000)), 1, 2, backend=backend, device="cpu") > 0
    assert [warning.filename for warning in caught] == [__file__]


def test_on_the_host_it_agrees_with_the_clock():
    def call():
        time.sleep(0.004)

    begin = time.perf_counter()
    for _ in range(5):
        call()
    by_hand = (time.perf_counter() - begin) * 1e3 / 5
    measured = do_bench(call, warmup=1, rep=30, device="cpu", return_mode="min")
    assert 4.0 <= measured <= 2 * by_hand


def test_flushing_the_host_makes_data_cold():
    array = np.ones(1 << 15)  # 256 KiB
    clear = flush.host_flush()
    total = lambda: array.sum()  # noqa: E731

    def nanoseconds(before):
        times = []
        for _ in range(15):
            total()
            before()
            begin = time.perf_counter_ns()
            total()
            times.append(time.perf_counter_ns() - begin)
        return min(times)

    assert nanoseconds(clear) > nanoseconds(lambda: None)


def test_sizes_of_caches():
    assert flush.last_level_cache() >= 1 << 20
    assert flush.flush_size() == min(2 * flush.last_level_cache(), 512 << 20)
    assert flush.flush_size(3) == 3 << 20
    assert [flush._bytes(text) for text in ("32K", "2M", "512")] == [32768, 2 << 20, 512]


def test_device_flush_overwrites_a_buffer_of_the_size():
    buffers = []

    class Tensor:
        def __init__(self, shape):
            self.shape = shape
            self.zeroed = 0
            buffers.append(self)

        def zero_(self):
            self.zeroed += 1

    flush.device_flush(Tensor, 2)()
    assert (buffers[0].shape, buffers[0].zeroed) == (((2 << 20) // 4,), 1)
    flush.device_flush(Tensor)
    assert buffers[1].shape == ((256 << 20) // 4,)
    flush.device_flush(Tensor, 0)()
    assert len(buffers) == 2


# -- which clock -----------------------------------------------------------------------------------------------------


class Adapter(KernelAdapter):
    name = "fake"

    def __init__(self):
        self.log = []

    def available(self, target):
        return Presence(True, "")

    def load(self, artifact):
        raise NotImplementedError

    def synchronize(self, device_index=0):
        self.log.append(device_index)


def test_adapters_time_by_the_host_and_synchronize_by_default():
    adapter = Adapter()
    timer = adapter.timer(3)
    timer.start()
    time.sleep(0.002)
    timer.stop()
    assert adapter.log == [3, 3]
    assert 2.0 <= timer.elapsed() < 2000
    assert isinstance(adapter.timer(backend="wall"), HostTimer)
    with pytest.raises(UnsupportedError, match="'fake' cannot time by 'sundial'"):
        adapter.timer(backend="sundial")


def test_an_adapters_own_timer_is_used():
    class Own(Adapter):
        def timer(self, device_index=0, backend="event"):
            return ("its own", device_index, backend)

    clock = clocks.adapter_clock(Own(), 2, 5, "special")
    assert clock.timer() == ("its own", 5, "special")
    assert not clock.on_host
    assert clocks.adapter_clock(Own(), clocks.HOST, 0, "event").on_host


def test_without_a_kernel_the_host_times():
    assert clock_for(lambda: None, "cpu", "event").on_host
    assert clock_for(lambda: None, "cpu:0", "wall").on_host


def test_a_device_that_is_not_there():
    torch = pytest.importorskip("torch")
    if torch.accelerator.is_available():
        pytest.skip("there is one")
    assert clock_for(lambda: None, None, "event").on_host
    with pytest.raises(ArgumentError, match="torch has no accelerator"):
        do_bench(lambda: None, device=0)


def test_kernels_are_found_in_what_is_timed(monkeypatch):
    class Kernel:
        def __call__(self, *args):
            return None

        def method(self):
            return None

    monkeypatch.setattr(clocks, "Launcher", Kernel)
    kernel = Kernel()
    monkeypatch.setitem(globals(), "global_kernel", kernel)
    timed_functions = [
        kernel,
        functools.partial(kernel, 1),
        functools.partial(print, kernel),
        functools.partial(lambda: kernel(1)),
        kernel.method,
        lambda: kernel(1),
        lambda k=kernel: k(1),
        lambda: global_kernel(1),  # noqa: F821
    ]
    for fn in timed_functions:
        assert next(kernels_of(fn)) is kernel
    assert list(kernels_of(lambda: None)) == list(kernels_of(print)) == []

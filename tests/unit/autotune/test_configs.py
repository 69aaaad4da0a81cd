"""What may be given as configurations."""

from __future__ import annotations

import inspect

import pytest
from hypothesis import given as drawn
from hypothesis import strategies as st

import tilecore
from tilecore.autotune.configs import completed, expand, in_words, set_by_call, tunables, variant
from tilecore.errors import AutotuneError


def kernel(M, N, block=None, stages=2, dtype="float16"):
    raise NotImplementedError


SIGNATURE = inspect.signature(kernel)


def test_lists_and_combinations():
    assert expand([{"block": 1}, {"block": 2, "stages": 3}], SIGNATURE) == [{"block": 1}, {"block": 2, "stages": 3}]
    combinations = expand({"block": [1, 2], "stages": (3, 4)}, SIGNATURE)
    assert combinations == [{"block": b, "stages": s} for b in (1, 2) for s in (3, 4)]


@drawn(st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(), min_size=1, max_size=4), min_size=1))
def test_combinations_are_all_and_distinct(space):
    signature = inspect.signature(lambda **kw: None)
    configs = expand(space, signature)
    count = 1
    for values in space.values():
        count *= len(set(values))
    assert len(configs) == count
    assert all(config[name] in space[name] for config in configs for name in space)


def test_each_configuration_is_tried_once():
    assert expand([{"block": 1}, {"block": 1}, {"block": 1.0}], SIGNATURE) == [{"block": 1}, {"block": 1.0}]


def test_functions_get_the_arguments_that_they_name():
    def by_name(M, stages):
        return [{"block": M * stages}]

    def by_protocol(args, kwargs):
        return {"block": [args[0], kwargs["N"]]}

    assert expand(by_name, SIGNATURE, (10,), {"N": 3}) == [{"block": 20}]
    assert expand(by_protocol, SIGNATURE, (10,), {"N": 3}) == [{"block": 10}, {"block": 3}]
    assert expand(lambda: [{"block": 4}], SIGNATURE, (1, 2)) == [{"block": 4}]
    assert expand(lambda **all: [{"block": all["M"]}], SIGNATURE, (7, 2)) == [{"block": 7}]
    assert expand(lambda M, extra=5: [{"block": extra}], SIGNATURE, (7, 2)) == [{"block": 5}]
    with pytest.raises(AutotuneError, match=r"needs K(.|\n)*some of M, N"):
        expand(lambda K: [], SIGNATURE, (1, 2))


def test_what_the_call_sets_stays():
    configs = {"block": [1, 2], "stages": [3, 4]}
    assert expand(configs, SIGNATURE, (8, 8), {"block": 9}) == [{"block": 9, "stages": s} for s in (3, 4)]
    assert set_by_call(("block", "stages"), SIGNATURE, (8, 8, 9), {"stages": None}) == {"block": 9}
    assert completed(SIGNATURE, (8, 8, None), {}, {"block": 2}) == {"M": 8, "N": 8, "block": 2}


def test_names():
    assert tunables([{"a": 1, "b": 2}, {"c": 1, "a": 2}]) == ("a", "b", "c")
    assert in_words({"block": 64, "dtype": "x" * 200}).startswith("block=64, dtype='xxx")
    assert len(in_words({"dtype": "x" * 200})) < 100


@pytest.mark.parametrize(
    ("configs", "message"),
    [
        ([], "there are no configurations"),
        ({"block": []}, "there are no configurations"),
        ({"block": 64}, "the values of 'block' are not a list"),
        ({"block": "64"}, "the values of 'block' are not a list"),
        ([64], "cannot be understood"),
        ("block=64", "cannot be understood"),
        ([{"blok": 1}], r"set 'blok', which the function does not take(.|\n)*some of M, N, block"),
    ],
)
def test_what_does_not_fit_is_refused(configs, message):
    with pytest.raises(AutotuneError, match=message):
        expand(configs, SIGNATURE)


def test_parameters_without_names():
    with pytest.raises(AutotuneError, match="cannot be passed by name"):
        completed(inspect.signature(lambda *sizes, block: None), (1, 2), {}, {"block": 3})


def test_pass_configurations_are_no_arguments():
    key = tilecore.PassConfigKey.TL_ENABLE_FAST_MATH
    configs = expand([{"block": 1, "pass_configs": {key: True}}, {"block": 1}], SIGNATURE)
    assert configs == [{"block": 1, "pass_configs": {"tl.enable_fast_math": True}}, {"block": 1}]
    assert completed(SIGNATURE, (5, 6), {}, configs[0]) == {"M": 5, "N": 6, "block": 1}
    plain = tilecore.jit(kernel, pass_configs={"tl.Simplify": {}})
    fast = variant(plain, configs[0])
    assert fast.pass_configs == {"tl.Simplify": {}, "tl.enable_fast_math": True}
    assert fast is variant(plain, configs[0])
    assert variant(plain, configs[1]) is plain
    own = inspect.signature(lambda block, pass_configs: None)  # a parameter of that name is an argument
    assert completed(own, (), {}, {"block": 1, "pass_configs": 7}) == {"block": 1, "pass_configs": 7}
    with pytest.raises(ValueError, match="'blok', which the function does not take"):
        expand([{"blok": 1}], SIGNATURE)


def test_what_yields_configurations_is_taken_too():
    def yielding(M):
        for block in (M, M + 1):
            yield {"block": block}

    assert expand(yielding, SIGNATURE, (4, 2)) == [{"block": 4}, {"block": 5}]
    assert expand(({"block": b} for b in (1, 2)), SIGNATURE) == [{"block": 1}, {"block": 2}]
    with pytest.raises(AutotuneError, match="cannot be understood"):
        expand(iter([1, 2]), SIGNATURE)

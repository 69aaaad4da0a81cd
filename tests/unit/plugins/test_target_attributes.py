"""Attributes of a target: unknown ones, wrong ones, defaults, and what the plugin makes of them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilecore.contract.records import AttributeSpec
from tilecore.errors import PluginError, TargetError
from tilecore.plugins.attributes import complete
from tilecore.target import Target
from tilecore.testing import null_backend

TABLE = {
    "arch": AttributeSpec("the chip", "chip1", ("chip1", "chip2", "b1")),
    "lanes": AttributeSpec("threads", 4),
    "fast": AttributeSpec("less exact", False),
    "model": AttributeSpec("found out", None),
}


def backend(table=TABLE, resolve=None):
    """What ``complete`` reads of a backend."""

    def fill(target):
        return target if "model" in target.attributes or "model" not in table else target.with_attributes(model="m")

    spec = replace(null_backend.tilecore_target(), kind="acme", attributes=table, resolve=resolve or fill)
    return SimpleNamespace(kind="acme", package="tile-acme", version="1", target=spec)


def test_defaults_are_filled_in_and_the_rest_resolved():
    assert complete(backend(), Target("acme")) == Target(
        "acme", {"arch": "chip1", "lanes": 4, "fast": False, "model": "m"}
    )


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "arch": st.sampled_from(["chip1", "chip2", "b1"]),
            "lanes": st.integers(-(2**40), 2**40),
            "fast": st.booleans(),
            "model": st.text(st.characters(codec="ascii", exclude_characters="\0"), max_size=5),
        },
    )
)
def test_what_was_typed_stays_and_completing_twice_changes_nothing(attributes):
    done = complete(backend(), Target("acme", attributes))
    assert {name: done.attributes[name] for name in attributes} == attributes
    assert set(done.attributes) == set(TABLE)
    assert complete(backend(), done) == done
    typed = {name: value for name, value in done.attributes.items() if name != "model"}
    assert complete(backend(), Target.parse(str(Target("acme", typed)))).attributes.items() >= typed.items()


@pytest.mark.parametrize(
    ("attributes", "words"),
    [
        ({"arhc": "chip1"}, ["no attribute 'arhc'", "did you mean -arch", "-lanes (threads)"]),
        ({"arch": "chip3"}, ["cannot be 'chip3'", "one of chip1, chip2, b1", "did you mean -arch=chip"]),
        ({"arch": True}, ["'arch'", "must be text"]),
        ({"lanes": "many"}, ["'lanes'", "an integer", "threads"]),
        ({"lanes": True}, ["'lanes'", "an integer"]),
        ({"fast": 1}, ["'fast'", "a flag"]),
    ],
)
def test_wrong_attributes(attributes, words):
    with pytest.raises(TargetError) as error:
        complete(backend(), Target("acme", attributes))
    for word in words:
        assert word in str(error.value)


def test_a_number_typed_for_a_text_is_that_text():
    table = {"version": AttributeSpec("of the chip", "90a")}
    assert complete(backend(table), Target.parse("acme -version=100")).attributes == {"version": "100"}


def test_a_target_without_attributes_takes_none():
    with pytest.raises(TargetError, match="no attributes"):
        complete(backend({}), Target("acme", {"x": 1}))


@pytest.mark.parametrize(
    "resolve",
    [
        lambda target: target,  # leaves "model" open
        lambda target: target.with_attributes(model="m", more=1),
        lambda target: Target("other", {**target.attributes, "model": "m"}),
    ],
)
def test_resolve_must_return_a_whole_target_of_its_kind(resolve):
    with pytest.raises(PluginError, match=r"tile-acme.*TargetSpec.resolve returned the wrong target"):
        complete(backend(resolve=resolve), Target("acme"))


def test_resolve_may_refuse():
    def resolve(target):
        raise TargetError("no such chip on the market")

    with pytest.raises(TargetError, match="no such chip"):
        complete(backend(resolve=resolve), Target("acme"))


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("arch", "chip9", "one of 'chip1', 'chip2', 'b1'"),
        ("arch", 1, "one of 'chip1', 'chip2', 'b1'"),
        ("lanes", True, "an int"),
        ("lanes", "4", "an int"),
        ("fast", 1, "True or False"),
    ],
)
def test_a_resolve_that_returns_a_value_outside_of_the_spec_is_the_packages_fault(name, value, expected):
    def resolve(target):
        return target.with_attributes(model="m", **{name: value})

    with pytest.raises(PluginError, match=f"resolve returned a wrong value of attribute '{name}'") as caught:
        complete(backend(resolve=resolve), Target("acme"))
    assert (caught.value.found, caught.value.expected) == (repr(value), expected)
    assert "tile-acme" in caught.value.hint

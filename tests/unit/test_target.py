"""Targets as texts, dicts and objects."""

from __future__ import annotations

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tilecore.errors import TargetError
from tilecore.target import Target

NAMES = st.text(string.ascii_letters + string.digits + "_.+", min_size=1)
CHARACTERS = st.sampled_from(string.printable + "\0\x7fé²٣\u00a0\u2003\u2028ſ𝟙")
LOOKS_LIKE_MORE = st.sampled_from(["90", "-1", "0", "007", "-0", "true", "False", "-", "--x=1", "'5'", '"5"', "\\"])
VALUES = st.one_of(st.booleans(), st.integers(), st.text(CHARACTERS, max_size=8), LOOKS_LIKE_MORE)
ATTRIBUTES = st.dictionaries(NAMES, VALUES, max_size=4)


@given(NAMES, ATTRIBUTES)
@example("acme", {"version": "100"})
def test_text_and_back(kind, attributes):
    target = Target(kind, attributes)
    read = Target.parse(str(target))
    assert read == target
    assert {name: type(value) for name, value in read.attributes.items()} == {
        name: type(value) for name, value in attributes.items()
    }
    assert hash(read) == hash(target)
    assert str(read) == str(target)


@given(ATTRIBUTES)
def test_a_text_a_number_and_a_flag_are_three_targets(attributes):
    targets = [Target("acme", {**attributes, "x": value}) for value in ("1", 1, True, "true")]
    assert len(set(targets)) == len({str(target) for target in targets}) == 4
    assert all((a == b) == (a is b) for a in targets for b in targets)


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("acme -a=1 -b=x -c", {"a": 1, "b": "x", "c": True}),
        ("acme   --a=-3\t-b=false", {"a": -3, "b": False}),
        ("acme -a='1' -b=\"true\"", {"a": "1", "b": "true"}),
        ("acme -a='x y' -b=x\\ y", {"a": "x y", "b": "x y"}),
        ("acme -a= -b=007 -c=+1", {"a": "", "b": "007", "c": "+1"}),
        ("acme -a=b=c", {"a": "b=c"}),
    ],
)
def test_what_users_type(text, attributes):
    assert Target.parse(text) == Target("acme", attributes)


@pytest.mark.parametrize("text", ["", "  ", "acme x", "acme -", "acme --", "acme -a='x", 'acme "', "acme -a=\\"])
def test_texts_that_cannot_be_read(text):
    with pytest.raises(TargetError):
        Target.parse(text)


def test_dicts():
    assert Target.parse({"kind": "acme", "a": "1", "b": 2}) == Target("acme", {"a": "1", "b": 2})
    for wrong in ({"a": 1}, {"kind": "acme", "a": 1.5}, {"kind": "acme", "a": None}, 3):
        with pytest.raises(TargetError):
            Target.parse(wrong)


def test_a_long_text_is_shortened_for_messages():
    short = Target("acme", {"arch": "a1", "fast": True})
    assert short.brief() == str(short)
    features = ",".join(f"feature{number}" for number in range(20))
    long = Target("acme", {"features": features, "march": "native", "model": "m", "lanes": 4})
    assert long.brief() == "acme -march=native (3 more attributes)"
    assert Target("acme", {"features": features}).brief() == "acme (1 more attribute)"
    assert str(Target.parse(str(long))) == str(long)

"""Dataclasses that are made quickly, beside those of dataclass(frozen=True)."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
from dataclasses import FrozenInstanceError, asdict, astuple, dataclass, field, fields, replace
from typing import Any, ClassVar

import pytest

from tilecore.artifact.records import Assumption, Entry
from tilecore.frozen_dataclasses import with_shared_methods as made


def points(decorator: Any) -> Any:
    @decorator
    class Point:
        """A point."""

        x: int
        y: int = 2
        names: list[str] = field(default_factory=list, compare=False)
        hidden: str = field(default="h", repr=False)
        kind: ClassVar[str] = "p"

        @property
        def sum(self) -> int:
            return self.x + self.y

        def __getattr__(self, name: str) -> str:
            if name.startswith("_"):
                raise AttributeError(name)
            return f"no {name}"

    return Point


def checked(decorator: Any) -> Any:
    @decorator
    class Checked:
        x: int
        square: int = field(init=False, default=0)
        log: list[int] = field(init=False, default_factory=list, hash=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "square", self.x**2)
            self.log.append(self.x)

        def __repr__(self) -> str:
            return "own"

    return Checked


def identities(decorator: Any) -> Any:
    @decorator
    class Identity:
        x: list[int]

        def __eq__(self, other: object) -> bool:
            return self is other

        __hash__ = object.__hash__

    return Identity


def empty(decorator: Any) -> Any:
    @decorator
    class Empty:
        pass

    return Empty


KINDS = (points, checked, identities, empty)


def outcome(action: Any, *args: Any, **words: Any) -> Any:
    try:
        return action(*args, **words)
    except Exception as error:
        return type(error), str(error)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_class_that_dataclass_makes(kind):
    ours, theirs = kind(made), kind(dataclass(frozen=True))
    assert dataclasses.is_dataclass(ours)
    assert [(f.name, f.type, f.init, f.repr, f.compare) for f in fields(ours)] == [
        (f.name, f.type, f.init, f.repr, f.compare) for f in fields(theirs)
    ]
    assert ours.__match_args__ == theirs.__match_args__
    assert [(p.name, p.kind) for p in inspect.signature(ours).parameters.values()] == [
        (p.name, p.kind) for p in inspect.signature(theirs).parameters.values()
    ]
    assert ours.__init__.__annotations__ == theirs.__init__.__annotations__
    parameters = ours.__dataclass_params__
    assert (parameters.init, parameters.repr, parameters.eq, parameters.frozen) == (True, True, True, True)


ARGUMENTS: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((1,), {}),
    ((1, 3), {}),
    ((), {"x": 1, "y": 5}),
    ((), {}),
    ((1, 2, ["a"], "z"), {}),
    ((1, 2, 3, 4, 5), {}),
    ((1,), {"z": 1}),
)


@pytest.mark.parametrize("kind", KINDS)
def test_instances_behave_alike(kind):
    seen = []
    for cls in (kind(made), kind(dataclass(frozen=True))):
        instances = [outcome(cls, *args, **words) for args, words in ARGUMENTS]
        good = [one for one in instances if isinstance(one, cls)]
        facts: list[Any] = [isinstance(one, cls) for one in instances]
        facts += [one[0] for one in instances if not isinstance(one, cls)]
        facts += [repr(one) for one in good] if kind is not identities else []
        facts += [(a == b, a != b, a == 1) for a in good for b in good]
        facts += [outcome(hash, one) == outcome(hash, copy.copy(one)) for one in good]
        facts += [asdict(one) for one in good] + [astuple(one) for one in good]
        for one in good[:1]:
            facts += [outcome(setattr, one, "x", 2), outcome(setattr, one, "other", 2)]
            facts += [outcome(delattr, one, "x"), vars(one)]
            facts += [outcome(lambda changed: asdict(replace(changed, x=7)), one)]
        seen.append(facts)
    assert len(seen[0]) > 8
    assert seen[0] == seen[1]


def test_details():
    Point = points(made)
    point = Point(1, names=["a"])
    assert repr(point).endswith("Point(x=1, y=2, names=['a'])")
    assert point.sum == 3
    assert point.other == "no other"
    assert point == Point(1)
    assert Point(1).names is not Point(1).names
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 3
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Point()
    loop = Point([])
    loop.x.append(loop)
    assert "..." in repr(loop)


def test_a_plain_subclass_has_attributes_of_its_own():
    class More(points(made)):  # type: ignore[misc]
        pass

    more = More(1)
    more.extra = 5
    assert more.extra == 5
    with pytest.raises(FrozenInstanceError):
        more.x = 2
    del more.extra
    assert more != points(made)(1)


def test_a_dataclass_may_inherit_it():
    @dataclass(frozen=True)
    class Wider(points(made)):  # type: ignore[misc]
        z: int = 9

    assert Wider(1) == Wider(1, z=9)
    assert [f.name for f in fields(Wider)] == ["x", "y", "names", "hidden", "z"]


@pytest.mark.parametrize(
    "body",
    [
        {"__annotations__": {"x": "dataclasses.InitVar[int]"}},
        {"__annotations__": {"x": int}, "x": field(kw_only=True)},
        {"__annotations__": {"x": int}, "__setattr__": lambda self, name, value: None},
    ],
)
def test_what_only_dataclass_makes_is_refused(body):
    with pytest.raises(TypeError, match="use dataclass"):
        made(type("Refused", (), {"__module__": __name__, **body}))
    with pytest.raises(TypeError, match="use dataclass"):
        made(type("Refused", (points(made),), {}))


def test_records_are_made_by_it():
    entry = Entry("name", (1, 1, 1))
    assert pickle.loads(pickle.dumps(entry)) == entry
    assert copy.deepcopy(entry) == replace(entry, work=0)
    if sys.version_info < (3, 13):
        assert Entry.__eq__.__code__ is Assumption.__eq__.__code__

"""Artifacts that a process keeps share what is equal in them."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import pytest

from tilecore.artifact import sharing
from tilecore.artifact.records import Artifact, Entry, ScalarParam, TensorParam, Workspace
from tilecore.artifact.sharing import share_parts


@pytest.fixture(autouse=True)
def own_values(monkeypatch):
    monkeypatch.setattr(sharing, "_values", {})


def artifact(rows=4, attributes=None):
    """As it is read from a file: no two texts are one object."""
    attributes = {"assertions": []} if attributes is None else attributes
    made = Artifact(
        "scaled", "cpu", "tilecore", "native",
        (TensorParam("A", "float32", (rows, 8)), TensorParam("B", "float32", (8,)), ScalarParam("by", "float32")),
        (), (Workspace("W", "float32", (rows,)), Workspace("V", "float32", (8,))),
        (Entry(f"scaled_{rows}", (rows, 1, 1), (32, 1, 1), 0, 5, attributes),),
        (0,), source="source", source_format="ll", binary=b"binary", binary_format="object", versions={"tilecore": "1"},
    )  # fmt: skip
    return Artifact.from_json(json.loads(json.dumps(made.to_json())), "source", b"binary")


def test_no_value_changes():
    for rows in (4, 5, 4):
        shared = artifact(rows)
        share_parts(shared)
        assert asdict(shared) == asdict(artifact(rows))


def test_equal_parts_are_one_object():
    first, second = artifact(4), artifact(5)
    assert first.params[1] is not second.params[1]
    share_parts(first)
    share_parts(second)
    assert first.params[0] != second.params[0]
    assert first.params[0].dtype is second.params[0].dtype is second.workspaces[0].dtype
    assert first.params[1] is second.params[1]
    assert first.params[2] is second.params[2]
    assert first.workspaces[1] is second.workspaces[1]
    assert first.name is second.name
    assert first.versions is second.versions
    assert first.entries[0].threads is second.entries[0].threads
    assert first.entries[0].attributes is second.entries[0].attributes


@pytest.mark.parametrize("pair", [({"a": 1}, {"a": True}), ({"a": []}, {"b": []}), ({"a": []}, {"a": ["text"]})])
def test_attributes_that_differ_are_not_shared(pair):
    artifacts = [artifact(4, attributes) for attributes in pair]
    for one in artifacts:
        share_parts(one)
    found = tuple(one.entries[0].attributes for one in artifacts)
    assert json.dumps(found) == json.dumps(pair)


def test_lists_that_a_backend_has_put_into_records_are_left():
    listed = replace(artifact(4), entries=(Entry("scaled_4", (4, 1, 1), [32, 1, 1]),))
    listed = replace(listed, params=(TensorParam("A", "float32", [4, 8]), *listed.params[1:]))
    share_parts(listed)
    assert listed.entries[0].threads == [32, 1, 1]
    assert listed.params[0].shape == [4, 8]


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(sharing, "MOST", 20)
    for rows in range(100):
        share_parts(artifact(rows))
        assert len(sharing._values) <= 20

"""Errors of code generators pass through TVM as they were raised."""

import pytest

from tilecore.codegen.registration import call_codegen, register_codegen
from tilecore.contract.records import CodegenRequest
from tilecore.errors import Location, UnsupportedError
from tilecore.target import Target


def test_errors_keep_type_place_and_hint():
    place = Location("kernel.py", 7, 4)
    raised = UnsupportedError("no such thing", location=place, hint="do without")

    def build(module, target):
        raise raised

    register_codegen("target.build.tilecore_test_raises", build)
    with pytest.raises(UnsupportedError) as caught:
        call_codegen("target.build.tilecore_test_raises", 1, "x")
    assert caught.value is raised
    assert caught.value.location == place


def test_an_old_error_is_not_raised_for_a_new_one():
    def fails(module, target):
        raise KeyError("first")

    register_codegen("target.build.tilecore_test_first", fails)
    with pytest.raises(KeyError):
        call_codegen("target.build.tilecore_test_first", 1, "x")
    with pytest.raises(Exception, match="tilecore_test_absent"):
        call_codegen("target.build.tilecore_test_absent", 1, "x")


def test_what_is_built_comes_back():
    register_codegen("target.build.tilecore_test_builds", lambda module, target: f"{target}: {module}")
    assert str(call_codegen("target.build.tilecore_test_builds", 3, "x -y=1")) == "x -y=1: 3"


def test_the_execution_backend_is_a_third_argument():
    register_codegen("target.build.tilecore_test_asks", lambda module, target, request: f"for {request.adapter}")
    request = CodegenRequest(Target("x"), "simulated")
    assert str(call_codegen("target.build.tilecore_test_asks", 1, "x", request)) == "for simulated"

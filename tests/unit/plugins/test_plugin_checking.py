"""The rules of the records: every field that the tables name is held to its rule, and the core's own records pass."""

from __future__ import annotations

from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from tilecore.contract.records import AttributeSpec, Codegen, Lowering, PassOption, TargetSpec, Toolchain
from tilecore.errors import PluginError
from tilecore.plugins.checking import RULES, check_record
from tilecore.testing import null_backend

ORIGIN = SimpleNamespace(kind="null", package="tile-null", version="1")
RECORDS = {
    TargetSpec: ("tilecore_target", null_backend.tilecore_target()),
    Lowering: ("tilecore_lowering", null_backend.tilecore_lowering()),
    Codegen: ("tilecore_codegen", null_backend.tilecore_codegen()),
    Toolchain: ("tilecore_toolchain", null_backend.tilecore_toolchain()),
}


@pytest.mark.parametrize("kind", RECORDS)
def test_every_field_has_a_rule(kind):
    unruled = {"contract"} if kind is TargetSpec else set()  # has a check and a message of its own
    assert set(RULES[kind]) == {field.name for field in fields(kind)} - unruled


@pytest.mark.parametrize("kind", RECORDS)
def test_whole_records_pass(kind):
    hook, record = RECORDS[kind]
    check_record(ORIGIN, hook, record, kind)


@pytest.mark.parametrize(("kind", "field"), [(kind, field) for kind in RULES for field in RULES[kind]])
@pytest.mark.parametrize("value", [None, 3.5, b"x", object()], ids=["None", "float", "bytes", "object"])
def test_no_field_takes_anything(kind, field, value):
    if value is None and field in ("installable", "options", "stand_in"):  # these may be left out so
        return
    hook, record = RECORDS[kind]
    with pytest.raises(PluginError) as error:
        check_record(ORIGIN, hook, replace(record, **{field: value}), kind)
    assert f"{hook}: field {field!r} of {kind.__name__} is wrong" in error.value.message
    assert "package tile-null 1" in error.value.message
    assert error.value.expected == RULES[kind][field].words


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("kind", "two words"),
        ("kind", ""),
        ("doc", "  "),
        ("detect", lambda target: None),
        ("resolve", lambda: None),
        ("capabilities", lambda a, b: None),
        ("device", True),
        ("device", 0),
        ("aliases", {"fast": {"variant": None}}),
        ("aliases", {"fast": ["variant"]}),
        ("aliases", {1: {}}),
        ("attributes", {"variant": 0}),
        ("attributes", {"variant": AttributeSpec("")}),
        ("attributes", {"variant": AttributeSpec("doc", default=3, choices=(1, 2))}),
        ("attributes", {"variant": AttributeSpec("doc", choices=[1, 2])}),
        ("attributes", {"variant": AttributeSpec("doc", default=1.5)}),
        ("attributes", {"variant": AttributeSpec("doc", default=True, choices=(1, 2))}),
        ("language", {"for": "acme:spin"}),
        ("options", [PassOption("acme.unroll", "doc", 4)]),
        ("options", [PassOption("acme.unroll", "doc", True, int)]),
        ("options", [PassOption("acme.unroll", "doc", "4", int)]),
        ("options", [PassOption("acme.unroll", "doc", 1)]),
    ],
)
def test_finer_rules_of_the_target(field, value):
    with pytest.raises(PluginError, match=f"field '{field}' of TargetSpec is wrong"):
        check_record(ORIGIN, "tilecore_target", replace(RECORDS[TargetSpec][1], **{field: value}), TargetSpec)


def test_functions_with_defaults_and_stars_fit():
    spec = replace(
        RECORDS[TargetSpec][1], resolve=lambda *a, **k: a[0], detect=lambda quick=True: None, capabilities=print
    )
    check_record(ORIGIN, "tilecore_target", spec, TargetSpec)


def test_alias_of_an_unknown_attribute():
    spec = replace(RECORDS[TargetSpec][1], aliases={"fast": {"speed": 9}})
    with pytest.raises(PluginError, match=r"alias 'fast' implies unknown attributes"):
        check_record(ORIGIN, "tilecore_target", spec, TargetSpec)


@pytest.mark.parametrize(("contract", "fix"), [(3, "upgrade tilecore"), (-1, "upgrade the package"), ("1", "an int")])
def test_contract_messages(contract, fix):
    spec = replace(RECORDS[TargetSpec][1], contract=contract)
    with pytest.raises(PluginError) as error:
        check_record(ORIGIN, "tilecore_target", spec, TargetSpec)
    assert fix in str(error.value)


@pytest.mark.parametrize("answer", [None, {}, "null", TargetSpec, RECORDS[Codegen][1]])
def test_other_types(answer):
    with pytest.raises(PluginError, match="tilecore_target must return a TargetSpec"):
        check_record(ORIGIN, "tilecore_target", answer, TargetSpec)


SPEC = RECORDS[TargetSpec][1]
VARIANT = {"variant": AttributeSpec("doc", default=1, choices=(1, 2))}
CONFLICTS = [
    (replace(SPEC, aliases={"auto": {}}), "an alias of TargetSpec is reserved", "auto"),
    (
        replace(SPEC, attributes=VARIANT, aliases={"fast": {"variant": 3}}),
        "implies a wrong value of attribute 'variant'",
        "3",
    ),
    (
        replace(SPEC, attributes=VARIANT, aliases={"fast": {"variant": True}}),
        "implies a wrong value",
        "True",
    ),
    (
        replace(SPEC, attributes={**VARIANT, "v": AttributeSpec("doc", other_names=("variant",))}),
        "field 'attributes' of TargetSpec gives two attributes one name",
        "variant",
    ),
    (
        replace(SPEC, language={"copy": "acme:copy", "spin": "acme:spin"}),
        "'language' of TargetSpec",
        "T.copy",
    ),
    (replace(SPEC, language={"float32": "acme:copy"}), "'language' of TargetSpec", "T.float32"),
    (replace(SPEC, language={"atomics": "acme:copy"}), "'language' of TargetSpec", "T.atomics"),
]


@pytest.mark.parametrize(("spec", "message", "found"), CONFLICTS)
def test_values_of_the_target_that_conflict(spec, message, found):
    with pytest.raises(PluginError) as caught:
        check_record(ORIGIN, "tilecore_target", spec, TargetSpec)
    assert message in caught.value.message
    assert caught.value.found == found
    assert caught.value.expected
    assert "tile-null" in caught.value.hint


def test_a_target_of_contract_1_that_offers_a_name_of_the_core_is_warned():
    spec = replace(SPEC, language={"copy": "acme:copy"}, contract=1)
    with pytest.warns(DeprecationWarning, match=r"names of tilecore's own language: T\.copy"):
        check_record(ORIGIN, "tilecore_target", spec, TargetSpec)


def test_a_default_of_an_option_may_be_none():
    options = [PassOption("acme.pairs", "doc", None), PassOption("acme.unroll", "doc", 4, int)]
    check_record(ORIGIN, "tilecore_target", replace(SPEC, options=options), TargetSpec)

"""Checks the records that the hooks return: a rule for each field of each record."""

from __future__ import annotations

import keyword
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tilecore.contract.origin import Origin, remedy, title
from tilecore.contract.records import (
    SUPPORTED_CONTRACTS,
    AttributeSpec,
    Codegen,
    Installable,
    Lowering,
    PassOption,
    TargetSpec,
    Toolchain,
)
from tilecore.errors import PluginError
from tilecore.frozen_dataclasses import frozen
from tilecore.installation import compiler_is_installed
from tilecore.plugins.attribute_values import expected_values, fits
from tilecore.signatures import signature_of

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.+-]*")
AUTO = "auto"  # what users write for a target or an execution backend that tilecore chooses


@frozen
class Rule:
    """A rule for a value. words: the expected values, for the message. holds: whether a value obeys."""

    words: str
    holds: Callable[[Any], bool]


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def is_name(value: Any) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_identifier(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier() and not keyword.iskeyword(value)


def _is_place(value: Any) -> bool:
    module, colon, attribute = value.partition(":") if isinstance(value, str) else ("", "", "")
    return bool(colon) and attribute.isidentifier() and all(part.isidentifier() for part in module.split("."))


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and all(map(_is_identifier, value.split(".")))


def _is_module_place(value: Any) -> bool:
    return _is_place(value) or _is_path(value)


def is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_attribute(value: Any) -> bool:
    return isinstance(value, (str, int, bool))


def takes(arguments: int) -> Rule:
    """The rule for a function that can be called with ``arguments`` positional arguments."""

    def holds(value: Any) -> bool:
        if not callable(value):
            return False
        try:
            signature_of(value).bind(*range(arguments))
        except TypeError:
            return False
        except ValueError:  # a builtin function without a signature
            return True
        return True

    return Rule(f"a function of {arguments} argument{'s' * (arguments != 1)}", holds)


def mapping(words: str, key: Callable[[Any], bool], value: Callable[[Any], bool]) -> Rule:
    """The rule for a dict whose keys obey ``key`` and whose values obey ``value``."""
    return Rule(words, lambda table: isinstance(table, Mapping) and all(key(k) and value(v) for k, v in table.items()))


def _is_implied(value: Any) -> bool:
    return isinstance(value, Mapping) and all(is_name(k) and _is_attribute(v) for k, v in value.items())


def _is_attribute_spec(value: Any) -> bool:
    return (
        isinstance(value, AttributeSpec)
        and is_text(value.doc)
        and (value.default is None or _is_attribute(value.default))
        and isinstance(value.choices, tuple)
        and all(map(_is_attribute, value.choices))
        and isinstance(value.other_names, tuple)
        and all(map(is_name, value.other_names))
        and (value.default is None or fits(value.default, value))
    )


def _are_pass_options(value: Any) -> bool:
    return value is None or (
        SEQUENCE.holds(value)
        and all(isinstance(option, PassOption) and is_text(option.name) and is_text(option.doc) for option in value)
        and all(isinstance(option.value_type, type) and _has_valid_default(option) for option in value)
        and len({option.name for option in value}) == len(value)
    )


def _has_valid_default(option: PassOption) -> bool:
    """Is the default of the option's type, or None for "not set"? A bool is no int here."""
    is_bool_for_another = isinstance(option.default, bool) and option.value_type is not bool
    return option.default is None or (isinstance(option.default, option.value_type) and not is_bool_for_another)


def _is_installable(value: Any) -> bool:
    return (
        isinstance(value, Installable)
        and is_text(value.name)
        and is_text(value.doc)
        and all(is_int(count) and count >= 0 for count in (value.download_bytes, value.installed_bytes))
        and takes(1).holds(value.installed)
        and takes(1).holds(value.install)
    )


TEXT = Rule("a non-empty str", is_text)
FLAG = Rule("True or False", lambda value: isinstance(value, bool))
NAME = Rule("a name: letters, digits and _ . + - after a letter", is_name)
FAMILIES = ("loops", "simt", "none")
FAMILY = Rule(", ".join(map(repr, FAMILIES)), lambda value: value in FAMILIES)
SEQUENCE = Rule("a list or tuple", lambda value: isinstance(value, Sequence) and not isinstance(value, (str, bytes)))

RULES: dict[type, dict[str, Rule]] = {
    TargetSpec: {
        "kind": NAME,
        "doc": TEXT,
        "capabilities": takes(1),
        "detect": takes(0),
        "resolve": takes(1),
        "attributes": mapping("a dict of names to valid AttributeSpecs", is_name, _is_attribute_spec),
        "aliases": mapping("a dict of names to dicts of attributes", is_name, _is_implied),
        "device": Rule("a DLPack device type, a positive int", lambda value: is_int(value) and value > 0),
        "torch_device": TEXT,
        "language": mapping('a dict of names to "module:attribute"', _is_identifier, _is_place),
        "known_failures": takes(1),
        "refused_names": takes(1),
        "modules": mapping('a dict of dotted names to "module" or "module:attribute"', _is_path, _is_module_place),
        "options": Rule(
            "a list of valid PassOptions with different names, each with a default of its value_type, or None",
            _are_pass_options,
        ),
    },
    Lowering: {
        "family": FAMILY,
        "stand_in": Rule("None, as it is not used any more", lambda value: value is None or takes(1).holds(value)),
        "edits": SEQUENCE,
        "implementations": SEQUENCE,
    },
    Codegen: {"function": TEXT, "emits": TEXT, "takes_request": FLAG, "register": takes(0)},
    Toolchain: {
        "find": takes(0),
        "build": takes(1),
        "version": takes(1),
        "describe": takes(1),
        "remarks": takes(1),
        "installable": Rule("a valid Installable or None", lambda value: value is None or _is_installable(value)),
    },
}


def check_record(origin: Origin, hook: str, answer: Any, kind: type) -> None:
    """Raise PluginError unless ``answer`` is a record of type ``kind`` with valid fields."""
    if not isinstance(answer, kind):
        description = f"the class {answer.__name__} itself" if isinstance(answer, type) else shown(answer)
        raise wrong(
            origin, f"{hook} must return a {kind.__name__}", description, f"tilecore.contract.records.{kind.__name__}"
        )
    if isinstance(answer, TargetSpec):
        _check_contract(origin, answer.contract)
    for field, rule in RULES[kind].items():
        value = getattr(answer, field)
        if not rule.holds(value):
            raise wrong(origin, f"{hook}: field {field!r} of {kind.__name__} is wrong", shown(value), rule.words)
    if isinstance(answer, TargetSpec):
        _check_target(origin, answer)
    if isinstance(answer, Codegen) and answer.function != f"target.build.tilecore_{origin.kind}":
        expected = f"target.build.tilecore_{origin.kind}"
        raise wrong(origin, f"{hook}: field 'function' of Codegen is wrong", answer.function, expected)


def wrong(origin: Origin, message: str, found: str, expected: str) -> PluginError:
    return PluginError(f"{title(origin)}: {message}", found=found, expected=expected, hint=remedy(origin))


def _check_contract(origin: Origin, contract: Any) -> None:
    if not is_int(contract):
        raise wrong(origin, "field 'contract' of TargetSpec is wrong", shown(contract), "an int")
    if contract in SUPPORTED_CONTRACTS:
        return
    newer = contract > max(SUPPORTED_CONTRACTS)
    raise PluginError(
        f"{title(origin)}: it uses version {contract} of the backend contract, which this tilecore does not support",
        found=f"contract {contract}",
        expected=f"one of {', '.join(map(str, SUPPORTED_CONTRACTS))}",
        hint=(
            f"upgrade tilecore (pip install --upgrade tilecore), or install an older {origin.package}"
            if newer
            else f"upgrade the package (pip install --upgrade {origin.package}), or install an older tilecore"
        ),
    )


def _check_target(origin: Origin, spec: TargetSpec) -> None:
    if spec.kind != origin.kind:
        raise wrong(
            origin,
            "its entry point and its tilecore_target name different kinds",
            f"TargetSpec.kind {spec.kind!r}",
            f"{origin.kind!r}, the entry point's name",
        )
    if AUTO in (spec.kind, *spec.aliases):
        name = "kind" if spec.kind == AUTO else "an alias"
        expected = 'another name: target="auto" is the target that tilecore chooses'
        raise wrong(origin, f"tilecore_target: {name} of TargetSpec is reserved", AUTO, expected)
    _check_attribute_names(origin, spec)
    _check_language(origin, spec)
    _check_modules(origin, spec)
    for alias, implied in spec.aliases.items():
        unknown = sorted(set(implied) - set(spec.attributes))
        if unknown:
            declared = str(sorted(spec.attributes))
            raise wrong(origin, f"alias {alias!r} implies unknown attributes", str(unknown), declared)
        for name, value in implied.items():
            if not fits(value, spec.attributes[name]):
                message = f"alias {alias!r} implies a wrong value of attribute {name!r}"
                raise wrong(origin, message, repr(value), expected_values(spec.attributes[name]))


def _check_attribute_names(origin: Origin, spec: TargetSpec) -> None:
    """Raise PluginError where two attributes have one name."""
    names = [*spec.attributes, *(other for attribute in spec.attributes.values() for other in attribute.other_names)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        message = "tilecore_target: field 'attributes' of TargetSpec gives two attributes one name"
        raise wrong(origin, message, ", ".join(repeated), "different names and other_names")


def _check_language(origin: Origin, spec: TargetSpec) -> None:
    """Raise PluginError where the target offers a name of the core: T.<name> would be the core's. Contract 1: warn.
    Without the compiler there is no language."""
    if not spec.language or not compiler_is_installed():
        return
    from tilecore.ir.language_names import names_of_the_core  # few targets have a language

    shadowed = sorted(spec.language.keys() & names_of_the_core())
    if not shadowed:
        return
    message = "tilecore_target: field 'language' of TargetSpec has names of tilecore's own language"
    found = ", ".join(f"T.{name}" for name in shadowed)
    if spec.contract > 1:
        raise wrong(origin, message, found, "names that tilecore.language does not have")
    from tilecore.caller import levels_to_user

    text = f"{title(origin)}: {message}: {found}; they stay tilecore's"
    warnings.warn(text, DeprecationWarning, stacklevel=levels_to_user())


def _check_modules(origin: Origin, spec: TargetSpec) -> None:
    """Raise PluginError where the target offers a module or a name of the core: it would be the core's."""
    from tilecore.module_names.table import MODULES
    from tilecore.plugins.discovery import CORE
    from tilecore.plugins.module_finder import is_file

    core = {*MODULES, *(f"{module}.{name}" for module, names in MODULES.items() for name in names)}
    shadowed = sorted(path for path in spec.modules if path in core or is_file(path))
    if shadowed and origin.package != CORE:
        message = "tilecore_target: field 'modules' of TargetSpec has modules of tilecore's own"
        raise wrong(origin, message, ", ".join(shadowed), "names that tilecore itself does not have")


def shown(value: Any) -> str:
    """The repr of a value for a message, in at most 200 characters; a plugin's __repr__ may itself be broken."""
    try:
        text = repr(value)
    except Exception:
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= 200 else text[:197] + "..."

"""Checks ``pass_configs`` against the options that their readers declare: a target's backend, and tilecore itself."""

from __future__ import annotations

import contextlib
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tilecore.caller import levels_to_user
from tilecore.contract.records import Backend, PassOption, TargetSpec
from tilecore.errors import PluginError, TargetError
from tilecore.transform import KNOWN_ELSEWHERE, PassConfigKey, PassConfigWarning, meaning_elsewhere, plain_pass_configs

DEVICE_FLAGS = PassOption("tl.device_compile_flags", "further flags for the device's compiler", None, str)
LINE_DIRECTIVES = PassConfigKey.TL_EMIT_LINE_DIRECTIVES.value
CORE_OPTIONS = (DEVICE_FLAGS,)  # read for every target, whether the caller sets them or T.annotate_pass_configs
_warned: set[tuple[str, str]] = set()  # (kind of target, key)


def checked_pass_configs(
    configs: Mapping[Any, Any] | None, backend: Backend, further: Sequence[PassOption] = ()
) -> dict[str, Any]:
    """``pass_configs`` for a target, by plain keys. further: options that tilecore itself reads, whatever the target.

    A key that is an option of the target, or known elsewhere, is taken; for one that nobody reads on this target, there
    is a warning once in a process. Raises TargetError for an unknown key.
    """
    plain = plain_pass_configs(configs)
    if plain:
        declared = {option.name: option for option in (*CORE_OPTIONS, *further, *(backend.target.options or ()))}
        for name in plain.keys() - declared.keys():
            if not _is_known(name):
                raise unknown_option(name, declared, backend.kind)
        warn_of_ignored(plain, backend.target, further)
    return plain


def known_pass_configs(configs: Mapping[Any, Any] | None) -> dict[str, Any]:
    """``pass_configs`` by plain keys, before the target is known. Raises TargetError for a key that nobody knows."""
    plain = plain_pass_configs(configs)
    for name in plain:
        if not _is_known(name):
            raise unknown_option(name, ())
    return plain


def warn_of_ignored(plain: Mapping[str, Any], spec: TargetSpec, further: Sequence[PassOption] = ()) -> None:
    """Warn, once in a process for each key, of keys that nobody reads on this target and of values of a wrong type."""
    if spec.options is None:
        return
    declared = {option.name: option for option in (*CORE_OPTIONS, *further, *spec.options)}
    for name, value in plain.items():
        option = declared.get(name)
        if option is None:
            meaning = meaning_elsewhere(name)
            elsewhere = f"in TileLang or TVM it {meaning}" if meaning else "it is an option of other targets"
            _warn(spec.kind, name, f"ignored, as nothing on target {spec.kind!r} reads it; {elsewhere}")
        elif not _fits(value, option):
            expected = f"a {option.value_type.__name__}"
            _warn(spec.kind, name, f"its value is {value!r}, not {expected}, and is passed on as it is ({option.doc})")


def asks_for_lines(configs: Mapping[str, Any]) -> bool:
    """Whether compiled kernels are to name the user's lines, for profilers and debuggers."""
    return bool(configs.get(LINE_DIRECTIVES))


def keeps_lines(spec: TargetSpec) -> bool:
    """Whether kernels of the target can name the user's lines: its backend reads that option."""
    return any(option.name == LINE_DIRECTIVES for option in spec.options or ())


def device_flags(configs: Mapping[str, Any]) -> tuple[str, ...]:
    """The flags for the device's compiler in a pass configuration: one text, split as a shell does, or a list."""
    flags = DEVICE_FLAGS.value_in(configs)
    if flags is None or isinstance(flags, str):
        return tuple(shlex.split(flags or ""))
    if not _are_texts(flags):
        raise TargetError(f"{DEVICE_FLAGS.name} must be text", found=repr(flags), expected='"-a -b" or ["-a", "-b"]')
    return tuple(flags)


def unknown_option(name: str, declared: Iterable[str], kind: str = "") -> TargetError:
    """The error for an unknown key, with the nearest known ones and the options of the target, where that is known."""
    import difflib

    options = sorted(declared)
    names = {*options, *KNOWN_ELSEWHERE, *(key.value for key in PassConfigKey)}
    close = difflib.get_close_matches(name, sorted(names), n=2, cutoff=0.8) or difflib.get_close_matches(name, names, 1)
    listed = f"{f'; those of target {kind!r}' if kind else ''}: {', '.join(options)}" if options else ""
    return TargetError(
        f"unknown pass configuration {name!r}",
        expected=f"an option that an installed target reads{listed or ', or a tilecore.PassConfigKey'}",
        hint=(f"did you mean {' or '.join(map(repr, close))}? " if close else "")
        + f"`tilecore passes --target {kind or 'TARGET'}` describes the options of a target",
    )


def _is_known(name: str) -> bool:
    from tilecore.plugins import manager

    if meaning_elsewhere(name) is not None:
        return True
    for kind in manager.kinds():
        with contextlib.suppress(PluginError):
            if name in (option.name for option in manager.target_spec(kind).options or ()):
                return True
    return False


def _fits(value: Any, option: PassOption) -> bool:
    """Is it a value of the option's type? A number may stand for a truth value, and None for the default."""
    if value is None or isinstance(value, option.value_type) or (option is DEVICE_FLAGS and _are_texts(value)):
        return True
    return option.value_type is bool and not isinstance(value, str) and str(value) in ("True", "False", "0", "1")


def _are_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(text, str) for text in value)


def _warn(kind: str, name: str, text: str) -> None:
    if (kind, name) not in _warned:
        _warned.add((kind, name))
        warnings.warn(f"pass configuration {name!r}: {text}", PassConfigWarning, stacklevel=levels_to_user())

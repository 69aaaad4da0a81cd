"""Expands the configurations that the user passed to a list of dicts."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tilecore.compilation_cache.key import plain_number
from tilecore.errors import WrongConfigurationsError
from tilecore.signatures import signature_of
from tilecore.transform import plain_pass_configs

if TYPE_CHECKING:
    from tilecore.jit.impl import JITImpl

PASS_CONFIGS = "pass_configs"  # a configuration may set these besides the function's arguments
Config = dict[str, Any]
Space = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]
Configs = Space | Callable[..., Space]


def expand(
    configs: Configs, signature: inspect.Signature, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
) -> list[Config]:
    """The configurations for one call, each once, in order.

    configs: a list of dicts, or what yields them; a dict of lists, for all combinations; or a function that returns one
    of these. The function gets the call's arguments by the names that it shares with ``signature``, or, when its
    parameters are just (args, kwargs), these two. Raises WrongConfigurationsError when there are none or they do not
    fit.
    """
    kwargs = kwargs or {}
    space = _called(configs, signature, args, kwargs) if callable(configs) else configs
    if isinstance(space, Iterable) and not isinstance(space, (Mapping, Sequence)):
        space = list(space)  # of a generator
    if isinstance(space, Mapping):
        expanded = _combinations(space)
    elif isinstance(space, Sequence) and all(isinstance(config, Mapping) for config in space):
        expanded = [dict(config) for config in space]
    else:
        raise WrongConfigurationsError(
            "the configurations cannot be understood",
            found=_short(space),
            expected="a list of dicts, a dict of lists, or a function that returns one of them",
        )
    if not expanded:
        raise WrongConfigurationsError("there are no configurations to try", found=_short(space))
    expanded = [_with_plain_pass_configs(config, signature) for config in expanded]
    _check_names(expanded, signature)
    fixed = set_by_call(tunables(expanded), signature, args, kwargs)  # what the call itself sets stays so
    return _distinct([{**config, **fixed} for config in expanded])


def tunables(configs: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The names that configurations set, in order."""
    return tuple(dict.fromkeys(name for config in configs for name in config))


def set_by_call(
    names: Sequence[str], signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Config:
    """Those of ``names`` that the call itself sets, integers of numpy as Python's; None counts as not set."""
    bound = signature.bind_partial(*args, **kwargs).arguments
    return {name: _plain_integer(bound[name]) for name in names if bound.get(name) is not None}


def _plain_integer(value: Any) -> Any:
    number = plain_number(value)
    return number if isinstance(number, int) else value


def depends_on(configs: Configs, signature: inspect.Signature) -> set[str]:
    """The parameters that a call must give before its configurations are known: those of a function that makes them."""
    if not callable(configs):
        return set()
    return {
        n for n, p in signature_of(configs).parameters.items() if n in signature.parameters and p.default is p.empty
    }


def completed(
    signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any], config: Config
) -> dict[str, Any]:
    """The call with a configuration, all by keywords. Raises WrongConfigurationsError for parameters that cannot be."""
    keywords: dict[str, Any] = {}
    for name, value in signature.bind_partial(*args, **kwargs).arguments.items():
        kind = signature.parameters[name].kind
        if kind is kind.VAR_POSITIONAL or kind is kind.POSITIONAL_ONLY:
            raise WrongConfigurationsError(f"the parameter {name!r} cannot be passed by name, as tuning requires")
        keywords.update(value if kind is kind.VAR_KEYWORD else {name: value})
    return {**keywords, **arguments_in(config, signature)}


def arguments_in(config: Mapping[str, Any], signature: inspect.Signature) -> Config:
    """The arguments of the function that a configuration sets: all but PASS_CONFIGS, unless it is a parameter."""
    if PASS_CONFIGS in signature.parameters:
        return dict(config)
    return {name: value for name, value in config.items() if name != PASS_CONFIGS}


def variant(jit_impl: JITImpl, config: Mapping[str, Any]) -> JITImpl:
    """The function with the pass configurations that a configuration adds to its own."""
    configs = None if PASS_CONFIGS in jit_impl.signature.parameters else config.get(PASS_CONFIGS)
    return jit_impl.with_pass_configs(configs) if configs else jit_impl


def _with_plain_pass_configs(config: Config, signature: inspect.Signature) -> Config:
    if PASS_CONFIGS not in config or PASS_CONFIGS in signature.parameters:
        return config
    return {**config, PASS_CONFIGS: plain_pass_configs(config[PASS_CONFIGS])}


def in_words(config: Mapping[str, Any]) -> str:
    """``block_M=64, stages=2``."""
    return ", ".join(f"{name}={_short(value)}" for name, value in config.items())


def _combinations(space: Mapping[str, Any]) -> list[Config]:
    for name, values in space.items():
        if isinstance(values, str) or not isinstance(values, Sequence):
            raise WrongConfigurationsError(
                f"the values of {name!r} are not a list", found=_short(values), expected="a list of values to try"
            )
    return [dict(zip(space, values, strict=True)) for values in itertools.product(*space.values())]


def _called(
    configs: Callable[..., Any], signature: inspect.Signature, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    parameters = signature_of(configs).parameters
    if tuple(parameters) == ("args", "kwargs"):
        return configs(tuple(args), dict(kwargs))
    bound = signature.bind_partial(*args, **kwargs)
    bound.apply_defaults()
    arguments = dict(bound.arguments)
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return configs(**arguments)
    missing = [
        n
        for n, p in parameters.items()
        if n not in arguments and p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    if missing:
        raise WrongConfigurationsError(
            f"the function that returns the configurations needs {', '.join(missing)}",
            expected=f"some of {', '.join(arguments)}, which the call passes",
        )
    return configs(**{name: arguments[name] for name in parameters if name in arguments})


def _check_names(configs: Sequence[Config], signature: inspect.Signature) -> None:
    parameters = signature.parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    unknown = [name for name in tunables(configs) if name not in parameters and name != PASS_CONFIGS]
    if unknown:
        raise WrongConfigurationsError(
            f"the configurations set {', '.join(map(repr, unknown))}, which the function does not take",
            expected=f"some of {', '.join(parameters)}",
        )


def _distinct(configs: list[Config]) -> list[Config]:
    distinct: list[Config] = []
    seen: set[str] = set()
    for config in configs:
        text = repr(sorted(config.items(), key=lambda item: item[0]))
        if text not in seen:
            seen.add(text)
            distinct.append(config)
    return distinct


def _short(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:77] + "..."

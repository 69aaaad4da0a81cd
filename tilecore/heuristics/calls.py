"""Configurations for a call of a kernel's function, by the names of its parameters: ``configs="auto"``.

A function that takes M, N and K is a GEMM; one that takes heads and dim is attention. Proposals set those of its
parameters whose names say what they are; a function that has no parameter for something (such as split_k) gets the
proposals that need none.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import log2
from typing import Any, NamedTuple

from tilecore.errors import WrongConfigurationsError
from tilecore.heuristics.attention import DECODING_NAMES, FORWARD_NAMES, attention
from tilecore.heuristics.checks import integer_of, shown
from tilecore.heuristics.fixed import UnproposedError, checked_value
from tilecore.heuristics.gemm import GEMM_NAMES, gemm
from tilecore.heuristics.proposal import Proposal

MANY = 64  # proposals that are looked through for those that the function can take
# what a proposal sets: the names that parameters for it may have
_SPELLINGS = {
    "block_M": ("block_M", "block_m", "BLOCK_M", "BM"),
    "block_N": ("block_N", "block_n", "BLOCK_N", "BN"),
    "block_K": ("block_K", "block_k", "BLOCK_K", "BK"),
    "block_H": ("block_H",),
    "stages": ("stages", "num_stages"),
    "threads": ("threads", "num_threads"),
    "split_k": ("split_k", "splits"),
    "stream_k": ("stream_k",),
    "splits": ("splits", "num_split"),
    "width": ("width",),
    "q_in_registers": ("q_in_registers",),
}
PROPOSED = frozenset(spelling for spellings in _SPELLINGS.values() for spelling in spellings)
# what a kernel does that has no parameter for it; where it is not here, the kernel's own value is as good as another
_WITHOUT: dict[str, Any] = {"split_k": 1, "splits": 1, "width": None}
_TYPES = ("dtype", "in_dtype", "input_dtype")
_QUERIES, _KEYS = ("queries", "seq_q", "length", "seq_len", "seqlen"), ("keys", "seq_kv", "length", "seq_len", "seqlen")
_CAUSAL = ("is_causal", "causal")


class CallConfigs(NamedTuple):
    """The configurations of a function for one call, the best first. departure: which values of the call no proposal
    has, in words; empty where there are none, and where the call gives all that proposals set."""

    configs: list[dict[str, Any]]
    departure: str = ""


class Operation(NamedTuple):
    """What a function computes. names: of what proposals set. propose: the proposals that have some fixed values."""

    names: Sequence[str]
    propose: Callable[[Mapping[str, Any]], list[Proposal]]


def configs_for(
    parameters: Sequence[str], arguments: Mapping[str, Any], fixed: Mapping[str, Any], target: Any, count: int
) -> CallConfigs:
    """At most ``count`` configurations of a function for one call.

    parameters: the function's names. arguments: of the call, with defaults. fixed: those that the call itself gives:
    all configurations have these values. Where no proposal has them, the rest is that of the proposals whose values are
    the nearest.

    Raises WrongConfigurationsError where the parameters say too little, ArgumentError for a fixed value that no
    configuration can have, and as :func:`~tilecore.heuristics.gemm.gemm` and
    :func:`~tilecore.heuristics.attention.attention` do.
    """
    divides = _spelt("split_k", parameters) in fixed and "stream_k" not in fixed  # the call says how K is divided
    operation = _operation([name for name in parameters if name != "stream_k" or not divides], arguments, target)
    own = {name: spelling for name in operation.names if (spelling := _spelt(name, parameters))}
    given = {
        name: checked_value(name, fixed[spelling], f"the call gives {spelling}")
        for name, spelling in own.items()
        if spelling in fixed
    }
    proposals, departure = _proposals(operation, own, given)
    configs: list[dict[str, Any]] = []
    for proposal in proposals:
        config = {spelling: given.get(name, proposal.config[name]) for name, spelling in own.items()}
        if config and config not in configs:
            configs.append(config)
    if not configs:
        raise WrongConfigurationsError(
            'configs="auto" has nothing to set: no proposal fits the parameters of the function',
            found=", ".join(parameters),
            expected="some of block_M, block_N, block_K, stages, threads",
        )
    return CallConfigs(configs[:count], departure if len(given) < len(own) else "")


def _proposals(
    operation: Operation, own: Mapping[str, str], given: Mapping[str, Any]
) -> tuple[Sequence[Proposal], str]:
    """The proposals that the function can take, and the departure of CallConfigs."""
    needed = {name: value for name, value in _WITHOUT.items() if name in operation.names and name not in own}
    if given.get("stream_k") and "split_k" not in given:
        needed["split_k"] = 1  # the program divides K in one way only
    departure = ""
    try:
        if given:
            return operation.propose({**needed, **given}), departure
    except UnproposedError as error:
        text = f"{error.message}; proposals have {error.expected}"
        departure = re.sub("|".join(rf"\b{name}\b" for name in own), lambda match: own[match[0]], text)
    try:
        proposals = operation.propose(needed)
    except UnproposedError:
        return [], ""
    return sorted(proposals, key=lambda proposal: _distance(proposal.config, given)), departure


def _distance(config: Mapping[str, Any], given: Mapping[str, int]) -> float:
    """How far a configuration is from values: the factors between them as powers of two, one for what is no number."""
    return sum(
        abs(log2(config[name] / value)) if config[name] and value else float(config[name] != value)
        for name, value in given.items()
    )


def _operation(parameters: Sequence[str], arguments: Mapping[str, Any], target: Any) -> Operation:
    """The operation that the parameters' names say."""
    names = set(parameters)
    dtype = next((arguments[name] for name in _TYPES if arguments.get(name) is not None), "float16")
    if {"M", "N", "K"} <= names:
        m, n, k = (_known(arguments, name) for name in ("M", "N", "K"))
        layout = arguments.get("layout") or "NN"
        streams = "stream_k" in names
        return Operation(
            (*GEMM_NAMES, "stream_k") if streams else GEMM_NAMES,
            lambda values: gemm(
                m, n, k, dtype, arguments.get("out_dtype"), layout,
                target=target, count=MANY, stream_k=streams, fixed=values,
            ),
        )  # fmt: skip
    queries, keys = (next((n for n in spellings if n in names), None) for spellings in (_QUERIES, _KEYS))
    if {"heads", "dim"} <= names and keys is not None:
        heads, length, dim = (_known(arguments, name) for name in ("heads", keys, "dim"))
        rows = 1 if queries is None or {"splits", "num_split"} & names else _known(arguments, queries)
        is_causal = any(bool(arguments.get(name)) for name in _CAUSAL)
        return Operation(
            DECODING_NAMES if rows == 1 < length else FORWARD_NAMES,
            lambda values: attention(
                arguments.get("batch") or 1, heads, arguments.get("kv_heads") or heads, rows, length, dim,
                arguments.get("dim_v"), is_causal, dtype, target=target, count=MANY, fixed=values,
            ),
        )  # fmt: skip
    raise WrongConfigurationsError(
        'configs="auto" does not know what the function computes',
        found="parameters " + ", ".join(parameters),
        expected="M, N and K of a GEMM, or heads, dim and length (or queries and keys) of attention",
        hint="configs= takes a function of the arguments, too, which may call tilecore.heuristics.gemm",
    )


def _known(arguments: Mapping[str, Any], name: str | None) -> int:
    value = arguments.get(name or "")
    number = integer_of(value)
    if number is None:
        raise WrongConfigurationsError(
            f'configs="auto" needs {name} as a number',
            found=shown(value),
            expected=f"an integer for {name} in the call",
        )
    return number


def _spelt(name: str, parameters: Sequence[str]) -> str | None:
    """The function's own name for what a proposal sets; None where it has none."""
    return next((spelling for spelling in _SPELLINGS[name] if spelling in parameters), None)

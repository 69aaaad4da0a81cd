"""Configurations for a call of a kernel's function, by the names of its parameters: ``configs="auto"``.

A function that takes M, N and K is a GEMM; one that takes heads and dim is attention. Proposals set those of its
parameters whose names say what they are; a function that has no parameter for something (such as split_k) gets the
proposals that need none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tilecore.errors import WrongConfigurationsError
from tilecore.heuristics.attention import attention
from tilecore.heuristics.gemm import gemm
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
    "cores": ("cores",),
}
# what a kernel does that has no parameter for it; where it is not here, the kernel's own value is as good as another
_WITHOUT: dict[str, Any] = {"split_k": 1, "splits": 1, "width": None}
_TYPES = ("dtype", "in_dtype", "input_dtype")
_QUERIES, _KEYS = ("queries", "seq_q", "length", "seq_len", "seqlen"), ("keys", "seq_kv", "length", "seq_len", "seqlen")
_CAUSAL = ("is_causal", "causal")


def configs_for(
    parameters: Sequence[str], arguments: Mapping[str, Any], fixed: Mapping[str, Any], target: Any, count: int
) -> list[dict[str, Any]]:
    """At most ``count`` configurations of a function for one call, the best first.

    parameters: the function's names. arguments: of the call, with defaults. fixed: those that the call itself gives:
    proposals that agree with them are taken if there are any, else the others, with these values.

    Raises WrongConfigurationsError where the parameters say too little, ArgumentError as
    :func:`~tilecore.heuristics.gemm.gemm` and :func:`~tilecore.heuristics.attention.attention` do.
    """
    divides = bool({"split_k", "stream_k"} & set(fixed))  # the call says how K is divided
    asked = [name for name in parameters if name != "stream_k" or not divides]
    spelt = [_spelt(proposal.config, parameters) for proposal in proposals_for(asked, arguments, target)]
    configs = [config for config in spelt if config]
    agreeing = [c for c in configs if all(fixed[name] == value for name, value in c.items() if name in fixed)]
    chosen: list[dict[str, Any]] = []
    for config in agreeing or configs:
        config = {name: fixed.get(name, value) for name, value in config.items()}
        if config not in chosen:
            chosen.append(config)
    if not chosen:
        raise WrongConfigurationsError(
            'configs="auto" has nothing to set: no proposal fits the parameters of the function',
            found=", ".join(parameters),
            expected="some of block_M, block_N, block_K, stages, threads",
        )
    return chosen[:count]


def proposals_for(parameters: Sequence[str], arguments: Mapping[str, Any], target: Any) -> list[Proposal]:
    """Of the operation that the parameters' names say."""
    names = set(parameters)
    dtype = next((arguments[name] for name in _TYPES if arguments.get(name) is not None), "float16")
    if {"M", "N", "K"} <= names:
        m, n, k = (_known(arguments, name) for name in ("M", "N", "K"))
        layout = arguments.get("layout") or "NN"
        streams = "stream_k" in names
        return gemm(m, n, k, dtype, arguments.get("out_dtype"), layout, target=target, count=MANY, stream_k=streams)
    queries, keys = (next((n for n in spellings if n in names), None) for spellings in (_QUERIES, _KEYS))
    if {"heads", "dim"} <= names and keys is not None:
        heads = _known(arguments, "heads")
        is_decoding = queries is None or bool({"splits", "num_split"} & names)
        return attention(
            arguments.get("batch") or 1, heads, arguments.get("kv_heads") or heads,
            1 if is_decoding else _known(arguments, queries), _known(arguments, keys), _known(arguments, "dim"),
            arguments.get("dim_v"), any(bool(arguments.get(name)) for name in _CAUSAL), dtype,
            target=target, count=MANY,
        )  # fmt: skip
    raise WrongConfigurationsError(
        'configs="auto" does not know what the function computes',
        found="parameters " + ", ".join(parameters),
        expected="M, N and K of a GEMM, or heads, dim and length (or queries and keys) of attention",
        hint="configs= takes a function of the arguments, too, which may call tilecore.heuristics.gemm",
    )


def _known(arguments: Mapping[str, Any], name: str | None) -> Any:
    value = arguments.get(name or "")
    if not isinstance(value, int):
        raise WrongConfigurationsError(
            f'configs="auto" needs {name} as a number', found=repr(value), expected=f"an integer for {name} in the call"
        )
    return value


def _spelt(config: Mapping[str, Any], parameters: Sequence[str]) -> dict[str, Any] | None:
    """The configuration by the function's names; None where the function cannot do what it asks for."""
    spelt: dict[str, Any] = {}
    for name, value in config.items():
        own = next((spelling for spelling in _SPELLINGS[name] if spelling in parameters), None)
        if own is not None:
            spelt[own] = value
        elif name in _WITHOUT and value != _WITHOUT[name]:
            return None
    return spelt

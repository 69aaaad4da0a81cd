"""What h200_defaults.py and heuristics_data.py measure a shape with: our kernels, libraries, and what is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from h200_defaults_shapes import Attention, Gemm
from h200_measure import example

import tilecore
from tilecore.heuristics import attention_space, gemm_space

TARGET = "cuda -arch=sm_90a"
FAST = {tilecore.PassConfigKey.TL_ENABLE_FAST_MATH: True}
MOST_WRONG = 2e-2  # of the largest value: products of float8 are added with 14 bits


def gemm_work(shape: Gemm) -> gemm_space.Work:
    out = "bfloat16" if "8" in shape.dtype.split("_")[0][5:] else shape.dtype
    return gemm_space.Work(shape.M, shape.N, shape.K, shape.dtype, out, shape.layout)


def attention_work(s: Attention) -> attention_space.Work:
    return attention_space.Work(s.batch, s.heads, s.kv_heads, s.queries, s.keys, s.dim, s.dim_v, s.causal, s.dtype)


def prim_func(shape: Gemm | Attention, config: dict[str, Any]) -> Any:
    if isinstance(shape, Gemm):
        return example("gemm").gemm(shape.M, shape.N, shape.K, shape.dtype, None, shape.layout, **config)
    s = shape
    if s.queries == 1 and s.keys > 1:
        return example("decode_attention").decode_attention(
            s.batch, s.heads, s.kv_heads, s.keys, s.dim, dtype=s.dtype, dim_v=s.dim_v, **config
        )
    return example("attention").attention(
        s.batch, s.heads, s.kv_heads, s.queries, s.dim, s.causal, dtype=s.dtype, dim_v=s.dim_v, **config
    )


def compiled(shape: Gemm | Attention, config: dict[str, Any]) -> Any:
    """The kernel of a configuration, for TARGET; among its values there may be pass_configs."""
    values = {name: value for name, value in config.items() if name != "pass_configs"}
    passes = ({} if isinstance(shape, Gemm) else FAST) | config.get("pass_configs", {})
    return tilecore.compile(
        prim_func(shape, values), target=TARGET, execution_backend="nvrtc", out_idx=-1, pass_configs=passes
    )


def tensors(shape: Gemm | Attention) -> tuple[tuple[Any, ...], dict[str, Callable[[], Any]], Any]:
    """The kernel's inputs, the libraries' calls, and what is right, in float32."""
    import torch

    if isinstance(shape, Gemm):
        kind = getattr(torch, shape.dtype)
        a = torch.randn(shape.M, shape.K, device="cuda").to(kind)
        b = torch.randn(*((shape.N, shape.K) if shape.layout == "NT" else (shape.K, shape.N)), device="cuda").to(kind)
        right = b.t() if shape.layout == "NT" else b
        one = torch.ones((), device="cuda")

        def product() -> Any:
            if "float8" in shape.dtype:
                return torch._scaled_mm(a, right, one, one, out_dtype=torch.bfloat16, use_fast_accum=True)
            return torch.matmul(a, right)

        return (a, b), {"cublas": product}, product().float()
    s, kind = shape, getattr(torch, shape.dtype)
    q = torch.randn(s.batch, s.queries, s.heads, s.dim, device="cuda", dtype=kind)
    k = torch.randn(s.batch, s.keys, s.kv_heads, s.dim, device="cuda", dtype=kind)
    v = torch.randn(s.batch, s.keys, s.kv_heads, s.dim_v, device="cuda", dtype=kind)
    peers = attention_peers(q, k, v, s)
    expected = next(iter(peers.values()))().transpose(1, 2).float()
    if s.queries == 1 and s.keys > 1:
        return (q[:, 0].contiguous(), k, v), peers, expected[:, 0]
    return (q, k, v), peers, expected


def attention_peers(q: Any, k: Any, v: Any, s: Attention) -> dict[str, Callable[[], Any]]:
    """Those of torch's attentions that take the shape, cuDNN's first."""
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    peers: dict[str, Callable[[], Any]] = {}
    for name, backend in (
        ("cudnn", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION),
        ("efficient", SDPBackend.EFFICIENT_ATTENTION), ("math", SDPBackend.MATH),
    ):  # fmt: skip

        def run(backend: Any = backend) -> Any:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, is_causal=s.causal, enable_gqa=s.heads != s.kv_heads)

        if peers and name in ("efficient", "math"):
            break
        try:
            run()
            peers[name] = run
        except Exception as error:
            print(f"{s}: {name}: {str(error)[:150]}", flush=True)
    return peers

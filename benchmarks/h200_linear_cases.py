"""For h200_linear.py: variants of examples/linear_attention.py, inputs, and the form of it that torch computes."""

from __future__ import annotations

from typing import Any

from h200_linear_shapes import Shape
from h200_measure import example

CHUNK = 64  # steps of torch's chunks
TOLERANCE = 1e-2  # of the largest value: states are rounded to float16 for the product with Q


def variants_of(shape: Shape) -> dict[str, dict[str, Any]]:
    """Arguments of linear_attention() by name; the first one is what configuration() chooses."""
    chosen = example("linear_attention").configuration(*shape.sizes)
    heads = shape.batch * shape.heads
    tiles: list[dict[str, Any]] = [{"block_V": block_V, "segments": 1} for block_V in (64, 32)]
    tiles += [{"block_V": 64, "segments": segments} for segments in ((2, 4) if heads < 64 else (2,))]
    tiles.append({"block_V": 64, "segments": 1, "chunk": 128, "threads": 256})
    tiles = [chosen, *(tile for tile in tiles if tile != chosen)]
    return {_words(tile, tile is chosen): tile for tile in tiles}


def _words(tile: dict[str, Any], is_chosen: bool) -> str:
    text = f"{tile['block_V']} columns, {tile['segments']} segments"
    if "chunk" in tile:
        text += f", chunks of {tile['chunk']}"
    return text + (" (default)" if is_chosen else "")


def tensors(shape: Shape) -> tuple[Any, Any, Any, Any]:
    """Q, K, V and G (None without a decay)."""
    import torch

    torch.manual_seed(0)
    size, dtype = (shape.batch, shape.length, shape.heads, shape.dim), getattr(torch, shape.dtype)
    q, k, v = (torch.randn(size, device="cuda") for _ in range(3))
    q, k = q / shape.dim**0.25, k / shape.dim**0.25
    g = torch.nn.functional.logsigmoid(4 + torch.randn(size[:3], device="cuda")) if shape.decay == "step" else None
    return q.to(dtype), k.to(dtype), v.to(dtype), g


def by_torch(q: Any, k: Any, v: Any, g: Any) -> Any:
    """The output, chunk by chunk, all chunks at a time: products in the type of Q, sums of states in float32."""
    import torch.nn.functional as F

    batch, length, heads, dim = q.shape
    chunks = -(-length // CHUNK)

    def in_chunks(x: Any) -> Any:
        x = F.pad(x, (0, 0, 0, 0, 0, chunks * CHUNK - length))
        return x.view(batch, chunks, CHUNK, heads, -1).permute(0, 3, 1, 2, 4)  # [batch, heads, chunks, CHUNK, ...]

    q, k, v = in_chunks(q), in_chunks(k), in_chunks(v)
    scores = q @ k.transpose(-1, -2)
    if g is None:
        states = (k.transpose(-1, -2) @ v).float().cumsum(2)
        states = F.pad(states[:, :, :-1], (0, 0, 0, 0, 1, 0))  # of the chunks before
        out = q @ states.to(q.dtype) + scores.tril() @ v
    else:
        sums = in_chunks(g[..., None])[..., 0].cumsum(-1)  # [batch, heads, chunks, CHUNK]
        whole = sums[..., -1].cumsum(-1)
        added = k.transpose(-1, -2) @ (v * (sums[..., -1:] - sums).exp()[..., None].to(v.dtype))
        before = F.pad(whole[..., :-1], (1, 0))
        kept = (before[..., :, None] - whole[..., None, :]).tril(-1).exp().tril(-1)  # from chunk j to chunk i
        states = (kept @ added.float().flatten(-2)).view(batch, heads, chunks, dim, -1)
        fade = (sums[..., :, None] - sums[..., None, :]).tril().exp()
        out = (q @ states.to(q.dtype)) * sums.exp()[..., None] + (scores * fade).tril().to(q.dtype) @ v
    return out.permute(0, 2, 3, 1, 4).reshape(batch, chunks * CHUNK, heads, -1)[:, :length]

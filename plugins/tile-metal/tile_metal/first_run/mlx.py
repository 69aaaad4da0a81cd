"""MLX as a peer of benchmarks: its arrays, and its functions by the host's clock."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import Any

from tilecore.testing.first_run.benchmarks import Peer
from tilecore.testing.first_run.machine import batch_milliseconds


def peer(tensors: Sequence[Any], work: Callable[..., Any]) -> list[Peer]:
    """The peer "MLX", which does ``work(mlx.core, *arrays)`` on the tensors as arrays; [] where MLX is missing."""
    if importlib.util.find_spec("mlx") is None:
        return []
    import mlx.core as mx

    arrays = [array_of(mx, tensor) for tensor in tensors]
    mx.eval(arrays)

    def milliseconds(run: Callable[[], Any]) -> float:
        return batch_milliseconds(lambda: mx.async_eval(run()), mx.synchronize)

    return [Peer("MLX", lambda: work(mx, *arrays), tensor_of, milliseconds)]


def array_of(mx: Any, tensor: Any) -> Any:
    """A tensor of torch as an array of MLX. By float32, as numpy has no bfloat16."""
    return mx.array(tensor.cpu().float().numpy()).astype(getattr(mx, str(tensor.dtype).removeprefix("torch.")))


def tensor_of(array: Any) -> Any:
    """An array of MLX as a tensor of torch in float32."""
    import mlx.core as mx
    import numpy as np
    import torch

    return torch.from_numpy(np.array(array.astype(mx.float32)))

"""Makes an implementation of T.gemm of how a backend divides a product and of its instructions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import PassEnv
from tilecore.contract.state import BufferLayouts
from tilecore.ir.nodes import Stmt
from tilecore.ir.tile_ops import TileCall
from tilecore.lowering.simt.matrix.config import MatrixConfig, fragment_layouts, reason_against_memory
from tilecore.lowering.simt.matrix.gemm import MatrixGemm
from tilecore.lowering.simt.state import ThreadCount, threads_of_call
from tilecore.lowering.simt.thread_env import ThreadEnv

ConfigOf = Callable[[TileCall, PassEnv, "int | None"], "MatrixConfig | str"]
Layouts = Callable[[TileCall, PassEnv], dict[Any, Any]]


def matrix_implementation(
    name: str, config_of: ConfigOf, gemm: type[MatrixGemm], layouts: Layouts, *, reads_global: bool = False
) -> TileOpImpl:
    """An implementation of T.gemm by matrix instructions.

    config_of: the division of a product among the warps of so many threads (None: not known), or the reason why there
    is none. gemm: emits it. layouts: those of the shared operands, by buffer. reads_global: whether warps may read
    operands from global memory.
    """

    def matches(call: TileCall, env: PassEnv) -> str | None:
        config = config_of(call, env, threads_of_call(call, env))
        return config if isinstance(config, str) else reason_against_memory(call, reads_global=reads_global)

    def config_for(call: TileCall, env: PassEnv, threads: int) -> MatrixConfig:
        config = config_of(call, env, threads)
        assert isinstance(config, MatrixConfig)
        return config

    def fragments(call: TileCall, env: PassEnv, threads: int) -> dict[Any, Any]:
        return fragment_layouts(call, config_for(call, env, threads), threads)

    def lower(call: TileCall, env: ThreadEnv) -> Stmt:
        return gemm(call, env, config_for(call, env, env.binding.threads)).run()

    return TileOpImpl(
        "gemm",
        name,
        lower,
        matches,
        priority=20,
        late=True,
        layouts=layouts,
        fragments=fragments,
        needs=(ThreadCount, BufferLayouts),
    )

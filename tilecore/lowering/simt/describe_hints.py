"""Writes the hints for whole kernels to kernel attributes: a source prelude, blocks per core, cluster sizes."""

from __future__ import annotations

from tilecore.contract.implementation import TileOpImpl
from tilecore.contract.passes import Pass, PassEnv
from tilecore.errors import UnsupportedError
from tilecore.ir.attributes import FunctionAttr, KernelHint
from tilecore.ir.build import nothing
from tilecore.ir.nodes import IRModule, Stmt
from tilecore.ir.spans import location_of_span
from tilecore.ir.tile_ops import TileCall, last_hint
from tilecore.lowering.analysis.kernels import kernels_of
from tilecore.lowering.analysis.needs import SOURCE_HINTS
from tilecore.lowering.simt.state import SourceTexts, TileFunction
from tilecore.lowering.state import SafeValues
from tilecore.lowering.tile_ops.effects import lower_annotate


def lower_hint(call: TileCall, env: PassEnv) -> Stmt:
    """Records source text for a target that compiles it; lowers other hints as the loops family does."""
    if str(call.key) in SOURCE_HINTS and "source" in env.capabilities.features:
        env.state(SourceTexts).texts[str(call.rest[0].value)] = None
        return nothing()
    return lower_annotate(call, env)


def describe_hints(module: IRModule, env: PassEnv) -> IRModule:
    kernels = kernels_of(env.state(TileFunction).function.body)
    text = "\n\n".join(env.state(SourceTexts).texts)
    described = {}
    for index, (var, func) in enumerate(module.functions.items()):
        kernel = kernels[index]
        min_blocks = last_hint(kernel, KernelHint.MIN_BLOCKS)
        if min_blocks is not None:
            func = func.with_attr(FunctionAttr.MIN_BLOCKS, int(min_blocks.rest[0]))
        cluster = last_hint(kernel, KernelHint.CLUSTER_DIMS)
        if cluster is not None:
            func = func.with_attr(FunctionAttr.CLUSTER, _cluster(cluster, env))
        described[str(var.name_hint)] = func.with_attr(FunctionAttr.PRELUDE, text) if text else func
    return IRModule(described)


def _cluster(call: TileCall, env: PassEnv) -> list[int]:
    sizes = [int(size) for size in call.rest]
    if "clusters" not in env.capabilities.features:
        raise UnsupportedError(
            f"T.Kernel(cluster_dims={tuple(sizes)}) needs clusters of blocks",
            found=f"target {env.target.brief()}, which has no clusters of blocks",
            expected="a target with clusters of blocks",
            hint="leave cluster_dims out for this target: it changes no result",
            location=location_of_span(call.span),
        )
    return sizes


KERNEL_HINTS = TileOpImpl("annotate", "hint", lower_hint, leaves=(SourceTexts, SafeValues))
DESCRIBE_HINTS = Pass("describe_hints", describe_hints, needs=(TileFunction, SourceTexts))

"""What users say of a kernel as a whole: source text to put before it, and how many blocks a core should hold."""

from __future__ import annotations

from tilecore.ir.build import nothing
from tilecore.ir.nodes import Evaluate, IRModule, Stmt
from tilecore.ir.tile_ops import TileCall, as_tile_call
from tilecore.ir.visit import collect
from tilecore.lowering.implementation import TileOpImpl
from tilecore.lowering.loops.effects import lower_annotate
from tilecore.lowering.passes import Pass, PassEnv
from tilecore.lowering.simt.choose import UNCHOSEN
from tilecore.lowering.simt.rasterize_blocks import kernels_of

_TEXTS = "source_texts"  # the fact: {text: None} in the order in which they are first named
_SOURCE = ("prelude", "import_source")


def lower_hint(call: TileCall, env: PassEnv) -> Stmt:
    """Source text is kept where the target compiles such; other hints as in the loops family."""
    if str(call.key) in _SOURCE and "source" in env.capabilities.features:
        env.facts.setdefault(_TEXTS, {})[str(call.rest[0].value)] = None
        return nothing()
    return lower_annotate(call, env)


def describe_hints(module: IRModule, env: PassEnv) -> IRModule:
    asked = [_min_blocks(kernel) for kernel in kernels_of(env.facts[UNCHOSEN].body)]
    text = "\n\n".join(env.facts.get(_TEXTS, {}))
    made = {}
    for number, (var, func) in enumerate(module.functions.items()):
        if asked[number]:
            func = func.with_attr("simt.min_blocks", asked[number])
        made[str(var.name_hint)] = func.with_attr("tile.prelude", text) if text else func
    return IRModule(made)


def _min_blocks(kernel: Stmt) -> int:
    """What the last T.annotate_min_blocks_per_sm of a kernel asks for; 0: nothing."""
    found = 0
    for node in collect(kernel, Evaluate):
        call = as_tile_call(node)
        if call is not None and call.op.name == "annotate" and str(call.key) == "min_blocks_per_core":
            found = int(call.rest[0])
    return found


KERNEL_HINTS = TileOpImpl("annotate", "hint", lower_hint)
DESCRIBE_HINTS = Pass("describe_hints", describe_hints)

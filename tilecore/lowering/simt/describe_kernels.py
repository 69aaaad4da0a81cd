"""Notes on every kernel what the code generator and the launch need to know of its memory (docs/simt.md)."""

from __future__ import annotations

from tilecore.contract.passes import Pass, PassEnv
from tilecore.ir.build import op_name
from tilecore.ir.nodes import (
    AllocBuffer,
    Call,
    Evaluate,
    IRModule,
    PrimFunc,
    Var,
    is_buffer_var,
    structural_map,
)
from tilecore.ir.register_call import register_call
from tilecore.ir.scopes import is_shared
from tilecore.ir.views import memory_roots
from tilecore.ir.visit import collect
from tilecore.lowering.simt.analysis.may_alias import FACT as ONE_TENSOR
from tilecore.lowering.simt.analysis.parallel_nests import accesses_of
from tilecore.lowering.simt.insert_barriers import BARRIER

SIMT_BARRIER = register_call("simt.barrier")


def describe_kernels(module: IRModule, env: PassEnv) -> IRModule:
    places = {str(b.name): place for b, place in env.facts.get("shared_offsets", {}).items()}
    made = {}
    for var, func in module.functions.items():
        mine = {str(a.buffer.name) for a in collect(func.body, AllocBuffer) if is_shared(a.buffer)}
        offsets = {name: places[name] for name in mine if name in places}
        access = _accesses(func)
        func = func.with_body(structural_map(func.body, (Evaluate, _barrier)))
        func = func.with_attr("simt.shared", {name: start for name, (start, _) in offsets.items()})
        func = func.with_attr("simt.shared_bytes", max((start + size for start, size in offsets.values()), default=0))
        one = sorted(env.facts.get(ONE_TENSOR, set()) & set(access))
        if one:
            func = func.with_attr("simt.one_tensor", one)
        made[str(var.name_hint)] = func.with_attr("simt.access", access)
    return IRModule(made)


def _accesses(func: PrimFunc) -> dict[str, str]:
    """How each tensor is used: "r", "w" or "rw", as an atomic operation does."""
    roots = memory_roots(func.body)
    read: set[Var] = set()
    written: set[Var] = set()
    for access in accesses_of(func.body):
        buffer = roots.get(access.buffer, access.buffer)
        if access.writes:
            written.add(buffer)
        if access.atomic or not access.writes:
            read.add(buffer)
    params = [p for p in func.params if is_buffer_var(p)]
    return {str(p.name): ("rw" if p in read else "w") if p in written else "r" for p in params}


def _barrier(node: Evaluate) -> Evaluate:
    return Evaluate(Call(SIMT_BARRIER, [], ret_ty="void"), span=node.span) if op_name(node.value) == BARRIER else node


DESCRIBE_KERNELS = Pass("describe_kernels", describe_kernels)

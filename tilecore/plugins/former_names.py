"""Keeps the module names of contract 1 importable, so that backends that use them still load.

Each import by a former name gives a DeprecationWarning with the new name. The names go with contract 3.
``tilecore/__init__.py`` asks here for modules that are not found.
"""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

# former name, name now; both under tilecore
_MODULES = """
    cache.admin compilation_cache.admin
    cache.current compilation_cache.current
    cache.disk compilation_cache.disk
    cache.entry_format compilation_cache.entry_format
    cache.eviction compilation_cache.eviction
    cache.key compilation_cache.key
    cache.layout compilation_cache.layout
    cache.libraries compilation_cache.libraries
    cache.memory compilation_cache.memory
    cache.publish compilation_cache.publish
    cache.quarantine compilation_cache.quarantine
    cache.source.arrays compilation_cache.source.arrays
    cache.source.classes compilation_cache.source.classes
    cache.source.definitions compilation_cache.source.definitions
    cache.source.functions compilation_cache.source.functions
    cache.source.reads compilation_cache.source.reads
    cache.source.scopes compilation_cache.source.scopes
    cache.source.text compilation_cache.source.text
    cache.source.trust compilation_cache.source.trust
    cache.source.values compilation_cache.source.values
    cache.source.watch compilation_cache.source.watch
    cache.source_key compilation_cache.source_key
    cache.versions compilation_cache.versions
    cache.warning compilation_cache.warning
    frontend.builder tracing.builder
    frontend.caller caller
    frontend.held tracing.held_values
    frontend.loops tracing.loops
    frontend.vectors tracing.vectors
    interpreter.values element_values
    jit.progress progress
    language.operators language.arithmetic
    language.plain_values tracing.plain_values
    lowering.apply_layouts lowering.buffers.apply_layouts
    lowering.assumptions lowering.analysis.assumptions
    lowering.check_capabilities lowering.normalize.check_capabilities
    lowering.contract_sums lowering.normalize.contract_sums
    lowering.cost lowering.analysis.cost
    lowering.first_reads lowering.analysis.first_reads
    lowering.flatten_buffers lowering.buffers.flatten_buffers
    lowering.fold_clears lowering.loops.fold_clears
    lowering.fuse_loops lowering.loops.fuse_loops
    lowering.guard_bounds lowering.buffers.guard_bounds
    lowering.hide_wraps lowering.normalize.hide_wrapping_casts
    lowering.implementation contract.implementation
    lowering.implementations lowering.tile_ops.registry
    lowering.inline_binds lowering.normalize.inline_binds
    lowering.instead contract.alternatives
    lowering.interleave_rows lowering.loops.interleave_rows
    lowering.lane_ops lowering.loops.lane_ops
    lowering.loops.effects lowering.tile_ops.effects
    lowering.loops.family lowering.loops.pipeline
    lowering.loops.matmul lowering.loops.gemm
    lowering.loops.moves lowering.tile_ops.copies
    lowering.loops.reductions lowering.tile_ops.reductions
    lowering.lower_reducers lowering.loops.lower_reducers
    lowering.lower_tile_ops lowering.loops.lower_tile_ops
    lowering.needs lowering.analysis.needs
    lowering.order.accesses lowering.race_check.accesses
    lowering.order.asynchronous lowering.race_check.asynchronous
    lowering.order.butterflies lowering.race_check.butterflies
    lowering.order.check_order lowering.race_check.check_order
    lowering.order.effects lowering.race_check.effects
    lowering.order.groups lowering.race_check.groups
    lowering.order.memory lowering.race_check.memory
    lowering.order.program lowering.race_check.program
    lowering.order.values lowering.race_check.values
    lowering.order.walk lowering.race_check.walk
    lowering.outline_kernels lowering.buffers.outline_kernels
    lowering.passes contract.passes
    lowering.plan_prefetches lowering.loops.plan_prefetches
    lowering.privatize_scratch lowering.normalize.privatize_scratch
    lowering.separate_overlaps lowering.normalize.separate_overlaps
    lowering.shared_size lowering.analysis.shared_size
    lowering.simt.asynchronous lowering.simt.analysis.asynchronous
    lowering.simt.binding lowering.simt.tile_ops.thread_registers
    lowering.simt.choose lowering.simt.choose_tile_ops
    lowering.simt.delay_joins lowering.simt.sink_reductions
    lowering.simt.family lowering.simt.pipeline
    lowering.simt.following lowering.simt.analysis.implied_layouts
    lowering.simt.join_partials lowering.simt.tile_ops.reduce_partials
    lowering.simt.kernel_parts lowering.simt.analysis.kernel_parts
    lowering.simt.load_halves lowering.simt.load_packed_bytes
    lowering.simt.multiply lowering.simt.tile_ops.gemm
    lowering.simt.multiply_elements lowering.simt.tile_ops.gemm_elements
    lowering.simt.nests lowering.simt.analysis.parallel_nests
    lowering.simt.other_buffers lowering.buffers.replace_buffers
    lowering.simt.owners lowering.simt.analysis.owners
    lowering.simt.partition lowering.simt.analysis.partition
    lowering.simt.reduce lowering.simt.tile_ops.reduce
    lowering.simt.reduce_beside lowering.simt.tile_ops.reduce_to_shared
    lowering.simt.reducers lowering.simt.tile_ops.reducers
    lowering.simt.shared_limit lowering.simt.analysis.shared_limit
    lowering.simt.shares lowering.simt.tile_ops.thread_elements
    lowering.simt.sums lowering.simt.tile_ops.accumulators
    lowering.simt.touches lowering.simt.analysis.accesses
    lowering.simt.twins lowering.simt.analysis.may_alias
    lowering.simt.vector_atomics lowering.simt.analysis.vector_atomics
    lowering.thread_loops lowering.loops.thread_loops
    lowering.threads.checks lowering.normalize.check_threads
    lowering.threads.conflicts lowering.loops.thread_conflicts
    lowering.threads.joins lowering.loops.thread_reductions
    lowering.threads.kernels lowering.analysis.kernels
    lowering.threads.regions lowering.loops.thread_regions
    lowering.threads.uniformity lowering.analysis.uniformity
    lowering.tile_ops.alternatives contract.alternatives
    lowering.transpose_blocks lowering.loops.transpose_blocks
    lowering.unpack_int4 lowering.buffers.unpack_int4
    lowering.unroll_loops lowering.loops.unroll_loops
    lowering.vectorize_body lowering.loops.vectorize_body
    lowering.vectorize_expressions lowering.loops.vectorize_expressions
    lowering.vectorize_loops lowering.loops.vectorize_loops
    plugins.backend contract.records
    plugins.guarded_kernel plugins.guarded_adapter
    plugins.hookspecs contract.hookspecs
    runtime.absent jit.absent
    runtime.adapter contract.adapter
    runtime.artifact artifact.records
    runtime.artifact_check artifact.check
    runtime.dim_program artifact.dim_program
    runtime.dims artifact.dims
    runtime.dlpack tensors.dlpack
    runtime.explain jit.explain
    runtime.export jit.export
    runtime.given_outputs jit.given_outputs
    runtime.kernel jit.kernel
    runtime.kernel_adapter jit.kernel_adapter
    runtime.memory_overlap tensors.memory_overlap
    runtime.tensors tensors.views
    runtime.timing contract.timing
    runtime.torch_state tensors.torch_state
    survey.calls target_report.calls
    survey.changes target_report.changes
    survey.data target_report.data
    survey.factories target_report.factories
    survey.files target_report.files
    survey.kernels target_report.kernels
    survey.lines target_report.lines
    survey.refusals target_report.refusals
    survey.remarks target_report.remarks
    survey.run target_report.run
    survey.tables target_report.tables
    survey.targets target_report.targets
    survey.without target_report.without
"""
NOW = {f"tilecore.{former}": f"tilecore.{now}" for former, now in map(str.split, _MODULES.strip().splitlines())}
# former packages of the modules in the table
PACKAGES = frozenset(
    {"tilecore.cache.source", "tilecore.lowering.order", "tilecore.lowering.threads", "tilecore.survey"}
)


class _Loader:
    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Replaces the empty module that the import made by the module of the new name."""
        name = module.__name__
        if name in PACKAGES:
            return
        warnings.warn(f"{name} is {NOW[name]} now", DeprecationWarning, stacklevel=2)
        sys.modules[name] = import_module(NOW[name])


def spec_of(name: str) -> ModuleSpec | None:
    """The spec of a module by its former name; None for other names."""
    if name not in NOW and name not in PACKAGES:
        return None
    return ModuleSpec(name, _Loader(), is_package=name in PACKAGES)  # type: ignore[arg-type]

"""The public interface for backends: the modules and names of the core that a backend may import.

Each name keeps its meaning and its parameters for as long as the contract's number (docs/versions.md);
docs/hooks/library.md lists them with their signatures. What is not here is private: it may change with any version.
Importing this module imports nothing else of the core.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Modules that serve one purpose.

    modules: (module without ``tilecore.``, its public names); "*" stands for all that it defines without an underscore.
    """

    title: str
    doc: str
    modules: tuple[tuple[str, str], ...]


# public for users, and described elsewhere: modules, and whether their submodules are public, too
_OF_USERS = {"": False, "language": False, "interpreter": False, "simulate": False, "testing": True}

LIBRARY = (
    Group(
        "The contract",
        "What hooks return and adapters are. Their fields and methods are on the pages of the hooks.",
        (
            ("contract.hookspecs", "hookimpl"),
            ("contract.records", "*"),
            ("contract.adapter", "*"),
            ("contract.timing", "*"),
            ("contract.passes", "*"),
            ("contract.implementation", "*"),
            ("contract.state", "PassState BufferLayouts SharedRequests"),
            ("tensors.device_array", "DeviceMemory"),
        ),
    ),
    Group(
        "Values that cross the contract",
        "Targets, element types, errors, and what a compiled kernel and a call of it are.",
        (
            ("target", "Target"),
            ("dtypes", "FACTS dtype"),
            ("errors", "*"),
            ("artifact.records", "*"),
            ("artifact.dims", "Dim evaluate dim_to_json dim_from_json"),
            ("jit.export", "kernel_of"),
            ("runtime.slots", "CallReader EntryLaunch KernelCall ScalarSlot TensorSlot storage"),
            (
                "runtime.device_kernels",
                "BAD_DEVICE BAD_GRID DeviceEntry DeviceKernels DriverFunctions ENTRY_STEP LOAD_FAILED LaunchFailures "
                "LoadedDevice NO_MEMORY PlainStart",
            ),
            ("runtime.device_launch", "built launch_of"),
            ("runtime.device_events", "DeviceEventTimer"),
            ("runtime.device_messages", "Messages Record formatted records"),
            ("runtime.device_launch_py", "PlainDeviceLaunch"),
            ("tensors.dlpack", "HOST Device ElementType Managed Tensor"),
            ("tensors.views", "device_problem empty"),
            ("transform", "PassConfigKey"),
            ("plugins.manager", "register resolve"),
            ("installation", "compiler_is_installed"),
        ),
    ),
    Group(
        "IR: nodes, and building them",
        "The only module that imports TVM is ``ir.nodes``; a backend takes TVM's classes from there.",
        (
            (
                "ir.nodes",
                "Add AllocBuffer And AttrStmt Bind Break BufferLoad BufferRegion BufferStore Call Cast Continue "
                "DeclBuffer Div EQ Evaluate Expr FloatImm FloorDiv FloorMod For ForKind GE GT IRModule IfThenElse "
                "IntImm IterVar LE LT Max Min Mul NE Not PrimFunc Ramp Range Return Select SeqStmt Stmt StringImm Sub "
                "TensorLoad TensorRegion Var While is_buffer_var structural_equal structural_map structural_mutate "
                "structural_walk tirx tvm_ffi",
            ),
            ("ir.attributes", "*"),
            ("ir.names", "LEAVE_THE_CHOICE TILE_OP_NAMES"),
            (
                "ir.build",
                "all_of cast const constant dtype_of is_nothing load loop nest nothing op_name seq statements_of store "
                "where with_body",
            ),
            ("ir.register_call", "register_call"),
            ("ir.intrinsics", "ADDRESS is_nan"),
            ("ir.spans", "location_of_span"),
        ),
    ),
    Group(
        "IR: reading it",
        "Walks, analyses of indices and of memory.",
        (
            (
                "ir.visit",
                "children collect defined_variables jumps_out loads reads_variable renewed stores substitute variables",
            ),
            ("ir.replace_buffers", "with_buffers"),
            ("ir.affine", "coefficient"),
            ("ir.analyzer", "Analyzer"),
            ("ir.contraction", "contract_products is_fma separated"),
            ("ir.effects", "effect_in"),
            ("ir.lasting", "branch_scope"),
            ("ir.memory_writes", "Memory writes_of"),
            ("ir.ranges", "binding_loops known_range within"),
            ("ir.reductions", "NUMBERS combine combining_kind has_meaning identity"),
            ("ir.regions", "element_indices is_whole whole_region"),
            ("ir.scopes", "is_fragment is_global is_own is_private is_shared is_total"),
            ("ir.sizes", "bytes_of elements_of symbols_of_shapes to_dim"),
            ("ir.tabulate", "tabulate"),
            ("ir.thread_ranges", "ThreadRange for_threads has_ranges number_in range_of"),
            ("ir.views", "memory_roots"),
        ),
    ),
    Group(
        "Tile operations and layouts",
        "For implementations of tile operations, and operations of a backend's own.",
        (
            ("ir.tile_op_table", "ALLREDUCE BALLOT SHUFFLE SYNC_THREADS TILE_OPS TileOp"),
            (
                "ir.tile_ops",
                "TILE_OPS TileCall TileOp as_tile_call hints_of is_barrier last_hint register_tile_op tile_statement",
            ),
            ("ir.dialect_calls", "dialect_of has_dialect_calls refuse_dialects"),
            ("ir.layout", "BufferLayout padded_rows"),
            ("ir.fragments", "REGISTER THREAD Digit FragmentLayout resized tiled"),
            ("ir.written_layouts", "run_of"),
            ("lowering.tile_ops.copies", "axes_of indices_of"),
            ("lowering.tile_ops.effects", "lower_atomic"),
            ("lowering.tile_ops.gemm", "Operands gemm_sizes needs_constant_sizes"),
        ),
    ),
    Group(
        "Passes",
        "What passes of any family use: the kernels of a function, what users assert, state between passes.",
        (
            (
                "lowering.analysis.kernels",
                "ThreadAxis Threads axes_and_code each_kernel is_axis kernels_of rebuild_kernel threads_of "
                "uses_threads",
            ),
            ("lowering.analysis.assumptions", "assumed_divisors is_multiple"),
            ("lowering.analysis.clears", "cleared_buffer"),
            ("lowering.analysis.uniformity", "Division Uniformity"),
            ("lowering.buffers.replace_buffers", "on_slot"),
            ("lowering.state", "SafeValues"),
        ),
    ),
    Group(
        "Passes and implementations of the SIMT family",
        "Threads and registers, thread IR, and what a backend tells the race check of its own calls.",
        (
            ("ir.thread_calls", "*"),
            ("ir.thread_nodes", "*"),
            ("ir.thread_ops", "thread_call thread_statement"),
            ("ir.thread_walk", "CallArguments ThreadWalk nodes_inside read_call"),
            ("lowering.simt.state", "PartialSums RequestedLayouts SharedPlan ThreadCount TileFunction threads_of_call"),
            ("lowering.simt.thread_env", "ThreadEnv"),
            ("lowering.simt.tile_ops.accumulators", "Accumulator is_whole_fragment"),
            ("lowering.simt.matrix.instruction", "MatrixInstruction"),
            ("lowering.simt.matrix.config", "*"),
            ("lowering.simt.matrix.gemm", "MatrixGemm"),
            ("lowering.simt.matrix.implementation", "matrix_implementation"),
            ("lowering.simt.matrix.operands", "Operand"),
            ("lowering.simt.matrix.word_loads", "loads value_of"),
            ("lowering.simt.matrix.swizzle", "PIECE swizzled"),
            ("lowering.simt.matrix.warp_grid", "FULL_COLUMN FULL_ROW SQUARE warp_grid"),
            ("lowering.simt.analysis.copies_ahead", "CopiesAhead copies_of_iteration simplified without_stages"),
            ("lowering.simt.prefetch_loops", "PREFETCH_LOOPS beside_sums bytes_of prefetch_loops"),
            ("lowering.simt.pipeline_loops", "PIPELINE_LOOPS pipeline_loops"),
            ("lowering.simt.lower_allreduce", "LOWER_ALLREDUCE lower_allreduce"),
            ("lowering.simt.analysis.accesses", "overlapping slots_differ"),
            ("lowering.simt.analysis.asynchronous", "ASYNC_NEST"),
            ("lowering.simt.analysis.panels", "Panels in_panels panels_of"),
            ("lowering.simt.analysis.dies", "Dies"),
            ("lowering.simt.analysis.shared_barriers", "kernels_with_shared_barriers"),
            ("lowering.simt.rasterize_blocks", "rasterize_for"),
            (
                "lowering.race_check.effects",
                "VALUES Access Arrival AsyncAccess Barrier Commit Effect MemoryBarrierWait Wait bytes_of "
                "describe_calls nothing",
            ),
            ("lowering.race_check.butterflies", "WARP_REDUCTIONS"),
            ("lowering.race_check.values", "UNKNOWN Compute Expressions Names Value"),
        ),
    ),
    Group(
        "Code generators",
        "The emitter, whose methods a code generator overrides (docs/hooks/codegen.md), and its parts.",
        (
            ("codegen", "*"),
            ("codegen.registration", "register_codegen"),
            ("codegen.c_source", "emit_module"),
            ("codegen.source_emitter", "EmittedKernel SourceEmitter read_only_parameters reserved_names"),
            ("codegen.dialect", "C_MATH C_TYPES Dialect KernelHead"),
            ("codegen.forms", "C CPP Forms"),
            ("codegen.names", "Names"),
            ("codegen.places", "at user_line"),
            ("codegen.refusal", "refuse"),
            ("codegen.syntax", "Memory Parameter Syntax print_format"),
            ("codegen.header_names", "GROUPS HEADER_NAMES HeaderName entry_of"),
            (
                "codegen.text",
                "AND BIT_AND BIT_OR BIT_XOR CHOICE EQUALITY OR ORDER PRIMARY PRODUCT SHIFT SUM Text UNARY binary call "
                "cast choice minus within",
            ),
            ("codegen.arithmetic", "NARROW widened"),
            ("codegen.calls", "CallValues memory_order"),
            ("codegen.choices", "chosen"),
            ("codegen.literals", "as_single narrow_bits narrow_number"),
            ("codegen.expressions", "Expressions Memory"),
            ("codegen.statements", "Statements"),
            ("codegen.memory_uses", "MemoryUses"),
        ),
    ),
    Group(
        "Names that a backend adds to the language",
        "For functions behind ``T.`` that only one target has (``TargetSpec.language``).",
        (
            ("language.buffers", "BufferHandle as_load"),
            ("language.conversions", "convert"),
            ("language.copies", "emit"),
            ("language.dialects", "dialect_hints emit_call"),
            ("language.gemm", "GemmWarpPolicy product_operands"),
            ("language.hints", "annotate"),
            ("language.kernel", "Kernel open_kernel"),
            ("language.memory", "allocate"),
            ("language.pointers", "Pointer access_ptr"),
            ("language.regions", "describe region_of region_pair"),
            ("language.threads", "thread_number"),
            ("tracing.current", "active current"),
        ),
    ),
    Group(
        "Modules that a backend adds under ``tilecore``",
        "For programs that import the modules of their chip by TileLang's names (``TargetSpec.modules``).",
        (
            ("codegen.source_callbacks", "SourceCallback register_postproc register_postproc_callback remove_postproc"),
            ("language.float8", "checked_format determine_fp8_type"),
            ("profiler.tile_device", "TileDevice checked_kind"),
        ),
    ),
    Group(
        "Simulated devices",
        "The simulated GPU, and what a simulator of a backend's own needs: the host's compiler, a cache of libraries.",
        (
            ("simulate.adapter", "SimulatedAdapter"),
            ("simulate.device", "SimulatedDevice"),
            ("simulate.banks", "BankPhases consecutive_lanes default_phases exclusive_ors"),
            ("simulate.arguments", "Record Tensor"),
            ("simulate.build", "content_key stored_library texts_digest"),
            ("simulate.compilers", "HostCompiler find_compiler"),
            ("simulate.interruptible", "run_interruptible"),
            ("simulate.opened", "opened"),
            ("simulate.progress", "building"),
        ),
    ),
    Group(
        "Installing a toolchain",
        "For ``Toolchain.installable``: files of wheels on PyPI, downloaded by pip, checked and unpacked.",
        (
            ("wheels.record", "Wheel"),
            ("wheels.install", "install installed_folder"),
        ),
    ),
)


def public_names(module: str) -> frozenset[str] | None:
    """The public names of ``module`` ("tilecore.ir.build"); empty where it has none, None where all of it is public."""
    short = module.partition(".")[2]
    package = short.partition(".")[0]
    if package in _OF_USERS and (short == package or _OF_USERS[package]):
        return None
    names = dict(entry for group in LIBRARY for entry in group.modules).get(short, "")
    return None if names == "*" else frozenset(names.split())

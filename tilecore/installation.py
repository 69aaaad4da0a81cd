"""Says which modules belong to the distribution tilecore-runtime, and whether the compiler is installed beside it.

Two distributions have the files of this package. tilecore-runtime loads kernels and launches them, and needs no TVM;
tilecore has all other modules, the compiler, and depends on tilecore-runtime of the same version. Their builds read
the tables below, without importing the package: this module imports nothing of it.
"""

from __future__ import annotations

from functools import cache
from importlib.machinery import PathFinder

RUNTIME, COMPILER = "tilecore-runtime", "tilecore"  # the distributions
PACKAGE = "tilecore"

# Packages and modules of tilecore that are in tilecore-runtime with all they contain.
WHOLE = frozenset(
    """
    artifact bundles cache caller compilation_cache compiler contract debug dtypes env errors
    former_attributes frozen_dataclasses installation interrupts module_names nearest plugins runtime
    setting_values settings signatures stage_times target tensors torch_ops transform wheels whole_files
    """.split()
)
# Packages of which some modules are in tilecore-runtime, with these modules; data files belong to it, too.
PARTS: dict[str, frozenset[str]] = {
    "backends": frozenset({"cpu"}),
    "backends.cpu": frozenset(
        """
        _pool adapter amx_permission code_memory code_rights codegen cpuid elf elf_aarch64 elf_link elf_object elf_place
        elf_x86_64 extensions host_processor plugin pool pool_py posix_memory processors streams systems target
        toolchain windows_memory
        """.split()
    ),
    "codegen": frozenset({"places", "source_callbacks", "text"}),
    "frontend": frozenset({"function", "signature", "source"}),
    "ir": frozenset({"attributes", "language_names", "names", "spans", "thread_calls", "tile_op_table"}),
    "jit": frozenset(
        """
        absent argument_key bundle bundle_errors call_cache call_text collection compile eager eager_call
        execution_names explain export given_outputs impl kernel kernel_adapter kernel_resources kernel_sources
        layered ranged_kernel request surroundings
        """.split()
    ),
    "language": frozenset({"annotations", "vector_shapes"}),
    "tracing": frozenset({"current"}),
}
# Packages and modules that are in tilecore with all they contain.
COMPILERS = frozenset(
    """
    __main__ autotune autotuner bundle_builder cli commands demo element_values engine heuristics
    interpreter layout lowering math pictures porting profiler progress scaffold simulate target_report
    testing
    """.split()
)
TOP_LEVEL = WHOLE | {package for package in PARTS if "." not in package} | COMPILERS


def is_of_runtime(module: str) -> bool:
    """Is the module (its full name) a part of tilecore-runtime? A package is, where one of its modules is."""
    words = module.split(".")[1:]
    if not words or words[0] in WHOLE:
        return True
    package = ".".join(words[:-1])
    return ".".join(words) in PARTS or words[-1] in PARTS.get(package, ())


def is_of_compiler(module: str) -> bool:
    """Is the name (a full one) of a module in the distribution tilecore, or of none in a package that both share?"""
    words = module.split(".")[1:]
    return bool(words) and (words[0] in COMPILERS or (words[0] in PARTS and not is_of_runtime(module)))


@cache
def compiler_is_installed() -> bool:
    """Whether the modules of the distribution tilecore are there; looks for one of them, without importing it."""
    import tilecore

    return PathFinder.find_spec(f"{PACKAGE}.lowering", tilecore.__path__) is not None

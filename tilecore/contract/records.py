"""The records that the five hooks return, which describe a backend, and :class:`Backend`, which holds all of them.

All records are checked when a backend is loaded, so an incomplete backend cannot exist.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tilecore.frozen_dataclasses import frozen

if TYPE_CHECKING:
    from tilecore.artifact.records import Artifact
    from tilecore.contract.adapter import KernelAdapter
    from tilecore.contract.implementation import TileOpImpl
    from tilecore.contract.passes import PassEdit
    from tilecore.target import Attribute, Target

CONTRACT_VERSION = 2
SUPPORTED_CONTRACTS = (CONTRACT_VERSION - 1, CONTRACT_VERSION)


@frozen
class Presence:
    """Whether a device (or tool) is present. ``detail``: its name and version, or where it was searched."""

    present: bool
    detail: str


@frozen
class Capabilities:
    """What a target can do. The conformance kit skips cases that need more, and errors quote it.

    dtypes: element types of tensors. scopes: memory scopes. tile_ops: names without the ``tile.`` prefix. Where one of
    these is empty, kernels are not checked for it. max_threads: of a block (0: not checked). warp: the number of
    threads of a warp, a power of 2 (1: there are no warps).
    shared_bytes: on-chip memory of one block (0: no limit). features: free words, such as "atomics".
    index_bits: 64, or 32 for a device without 64-bit integers, or with slow ones: then offsets of elements are computed
    in int32, a tensor has less than 2**31 bytes and elements, and no type that ``dtypes`` lacks appears in the code.
    With int64 among ``dtypes``, tensors whose size is known when the kernel is compiled may be larger.
    index_hint: what users can do about a larger tensor, for the error; "": split it.
    atomic_orders: memory orders of atomic operations that the target has (empty: nothing is compared).
    atomic_dtypes: element types of atomic operations (empty: nothing is compared); where a target has only some
    operations on a type, each of them by its name: "T.atomic_max of uint64".
    thread_bytes: memory of one thread, its registers and what they are spilled to (0: no limit).
    """

    dtypes: frozenset[str]
    scopes: frozenset[str]
    tile_ops: frozenset[str]
    max_threads: int = 0
    warp: int = 1
    shared_bytes: int = 0
    features: frozenset[str] = frozenset()
    index_bits: int = 64
    atomic_orders: frozenset[str] = frozenset()
    atomic_dtypes: frozenset[str] = frozenset()
    index_hint: str = ""
    thread_bytes: int = 0


@frozen
class AttributeSpec:
    """One target attribute: its default (None: filled in by ``resolve``), meaning and, if few, legal values.

    other_names: further names that users may give it by.
    """

    doc: str
    default: Attribute | None = None
    choices: tuple[Attribute, ...] = ()
    other_names: tuple[str, ...] = ()


@frozen
class PassOption:
    """One pass configuration, declared by the package whose passes or toolchain read it.

    name: its key in ``pass_configs``. doc: its meaning, one line. default: its value where nobody sets it.
    value_type: the type of its values.
    """

    name: str
    doc: str
    default: Any = False
    value_type: type = bool

    def value_in(self, config: Mapping[str, Any]) -> Any:
        """Its value in a pass configuration, such as ``PassEnv.config`` or ``BuildRequest.config``."""
        return config.get(self.name, self.default)


@frozen
class TargetSpec:
    """The record that ``tilecore_target`` returns.

    kind: equals the entry point's name. aliases: other names users may type, each with the attributes it implies.
    resolve: fills in every attribute (detecting the device present if need be); must return the same target for the
    same machine in every process. device: DLPack device type (1 = host memory). torch_device: torch's name for it.
    detect: is a device present. Neither ``resolve`` nor ``detect`` may import TVM or torch.
    language: names that it adds to the tile language, each with its place ("module:attribute"), which is imported when
    a kernel uses the name.
    known_failures: function of a Target: the cases of the conformance kit that are known to fail on it, as patterns
    ("test_math.py::*erf*"), each with the reason; a case whose reason begins with "crashes" is not run.
    contract: the version of the contract that the plugin was written for.
    options: the pass configurations that the passes and the toolchain read; None: not declared, so that known keys are
    passed on without a check.
    modules: modules and names that it adds under ``tilecore``, each with its place. ``{"acme": "tile_acme.names"}`` is
    the module ``tilecore.acme``, ``{"carver.arch.ACME": "tile_acme.arch:ACME"}`` a name of ``tilecore.carver.arch``.
    refused_names: function of a resolved Target: the names of ``language`` that kernels for it cannot use, each with
    (why, what to write instead); of None: those that no target of the kind has. ``tilecore port`` reports them.
    """

    kind: str
    doc: str
    capabilities: Callable[[Target], Capabilities]
    detect: Callable[[], Presence]
    resolve: Callable[[Target], Target] = lambda target: target
    attributes: Mapping[str, AttributeSpec] = field(default_factory=dict)
    aliases: Mapping[str, Mapping[str, Attribute]] = field(default_factory=dict)
    device: int = 1
    torch_device: str = "cpu"
    language: Mapping[str, str] = field(default_factory=dict)
    contract: int = CONTRACT_VERSION
    known_failures: Callable[[Target], Mapping[str, str]] = lambda target: {}
    options: Sequence[PassOption] | None = None
    modules: Mapping[str, str] = field(default_factory=dict)
    refused_names: Callable[[Target | None], Mapping[str, tuple[str, str]]] = lambda target: {}


@frozen
class Lowering:
    """The record that ``tilecore_lowering`` returns.

    family: the pipeline that it starts from ("loops", "simt"), or "none" for the plugin's own: the extension point
    "all", then "outline_kernels", which splits the function into its kernels unless a pass before it did.
    edits: passes inserted, replaced or removed by name. implementations: the backend's own tile ops.
    stand_in: deprecated, leave it out: no pass runs under a TVM target.
    """

    family: str
    stand_in: Callable[[Target], dict[str, Any]] | None = None
    edits: Sequence[PassEdit] = ()
    implementations: Sequence[TileOpImpl] = ()


@frozen
class Codegen:
    """The record that ``tilecore_codegen`` returns.

    function: name of the TVM global function (``target.build.tilecore_<kind>``): called with the lowered IRModule and
    the target's canonical text, it returns the source text of the whole module; or a dict of two texts, "source" and
    "entries": JSON ``{symbol: {"shared_bytes": int, "attributes": {...}, "symbol": ...}}`` for the artifact's entries;
    "symbol" is the entry's name in the source where it is another. For ``kernel.explain()``, whatever the execution
    backend, an entry may have "figures": {name: int}, such as estimates of registers; "notes" and "slow": sentences on
    the kernel, of which the "slow" ones make ``tilecore explain --targets`` call the kernel slow.
    register: registers that function; called once, before its first use (it may import TVM).
    emits: format of the source: "ll", "c", ... ; the extension of dumped files. A dict may have a third text,
    "format", for source of another one.
    takes_request: the function has a third parameter, a :class:`CodegenRequest`.
    """

    function: str
    emits: str
    register: Callable[[], None]
    takes_request: bool = False


@frozen
class CodegenRequest:
    """What the source is for. adapter: the name of the execution backend that will load what is built from it, such as
    "simulated"; it is a part of every cache key, so that the source may depend on it."""

    target: Target
    adapter: str = ""


@frozen
class Found:
    """A tool that a toolchain searched for: a compiler, a library, an SDK or an environment variable.

    where: its path when found, else the places that were searched. allows: what it is needed for ("emit", "compile",
    "run", ...).
    """

    name: str
    present: bool
    where: str
    version: str = ""
    allows: str = ""
    fix: str = ""


@frozen
class BuildRequest:
    """What a toolchain gets: ``source`` of format ``Codegen.emits`` with these entry symbols, the user's flags, the
    execution backend that will load the binary, and the pass configuration by key."""

    name: str
    source: str
    symbols: tuple[str, ...]
    target: Target
    flags: tuple[str, ...] = ()
    verbose: bool = False
    adapter: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)


@frozen
class InstallRequest:
    """What :attr:`Installable.install` gets.

    folder: an existing folder for the target's tools. archive: a file that the user has downloaded; "": download it.
    progress: function of (the step, bytes done, bytes in all or 0 when not known).
    """

    folder: str
    archive: str = ""
    progress: Callable[[str, int, int], None] = lambda step, done, total: None


@frozen
class Installable:
    """A tool that ``tilecore toolchain install`` can install.

    name: with its version. doc: what it is, its source and its licence; shown before the user agrees.
    download_bytes, installed_bytes: the sizes of the download and of the installation. installed: function of the
    folder; returns the path of an existing installation, "" where there is none.
    install: installs it, completely or not at all, and returns the path; raises ToolchainError.
    """

    name: str
    doc: str
    download_bytes: int
    installed_bytes: int
    installed: Callable[[str], str]
    install: Callable[[InstallRequest], str]


@frozen
class Toolchain:
    """The record that ``tilecore_toolchain`` returns.

    find: searches for all tools, quickly, without TVM or torch. build: source to (binary, format); raises
    ToolchainError with the tool's own output. version: goes into cache keys; quick, without TVM or torch.
    describe: the resources of a binary's functions, for ``kernel.explain()``: numbers by function and name, such as
    {"gemm_kernel": {"registers": 168, "stack_bytes": 0}}. installable: the tool that tilecore can install, or None.
    remarks: sentences on the binary of an Artifact, which ``kernel.explain()`` shows among its notes: what limits the
    blocks that run at once, registers that did not suffice.
    """

    find: Callable[[], Sequence[Found]]
    build: Callable[[BuildRequest], tuple[bytes, str]]
    version: Callable[[Target], str] = lambda target: ""
    describe: Callable[[bytes], Mapping[str, Mapping[str, int]]] = lambda binary: {}
    installable: Installable | None = None
    remarks: Callable[[Artifact], Sequence[str]] = lambda artifact: ()


@frozen
class Backend:
    """All records of one target kind. ``package``, ``version``: the distribution that it comes from; ``module``: the
    module of its plugin; ``registration``: a unique text if the plugin was registered as an object, which no file
    identifies, "" otherwise."""

    package: str
    version: str
    target: TargetSpec
    lowering: Lowering
    codegen: Codegen
    toolchain: Toolchain
    adapters: Mapping[str, KernelAdapter]
    module: str = ""
    registration: str = ""

    @property
    def kind(self) -> str:
        return self.target.kind


def __getattr__(name: str) -> Any:
    """``Target``, which backends may import from here too; few modules need it, so its import is late."""
    if name != "Target":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tilecore.target import Target

    return Target

"""Packages with a fault in a hook, or in what a hook gives."""

from __future__ import annotations

from broken_packages import BrokenPackage

PACKAGES = (
    BrokenPackage(
        "capabilities_one_word",
        "capabilities holds a text where a set of names belongs.",
        step="capabilities",
        says="TargetSpec.capabilities returned a wrong value: field 'dtypes' of Capabilities is wrong",
        backend="""\
def capabilities(self, target):
    return replace(super().capabilities(target), dtypes="float32")
""",
    ),
    BrokenPackage(
        "contract_newer",
        "Written for a contract that this tilecore does not know.",
        step="resolve",
        says="of the backend contract, which this tilecore does not",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_target(self):
    return replace(super().tilecore_target(), contract=CONTRACT_VERSION + 1)
""",
    ),
    BrokenPackage(
        "contract_older",
        "Written for a contract that tilecore no longer speaks.",
        step="resolve",
        says="of the backend contract, which this tilecore does not",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_target(self):
    return replace(super().tilecore_target(), contract=CONTRACT_VERSION - 2)
""",
    ),
    BrokenPackage(
        "contract_previous",
        "Written for the previous contract, which still works.",
        step="none",
        backend="""\
@hookimpl
def tilecore_target(self):
    return replace(super().tilecore_target(), contract=CONTRACT_VERSION - 1)
""",
    ),
    BrokenPackage(
        "detect_half",
        "detect leaves the details out.",
        step="detect",
        says="TargetSpec.detect returned a wrong value: field 'detail' of Presence is wrong",
        targets="broken",
        backend="""\
def detect(self):
    return Presence(False, None)
""",
    ),
    BrokenPackage(
        "found_half",
        "find does not say where it looked.",
        step="find",
        says="Toolchain.find returned a wrong value: field 'where' of Found is wrong",
        backend="""\
def find(self):
    return [Found("compiler", False, None)]
""",
    ),
    BrokenPackage(
        "language_of_the_core",
        "It offers a name of the language that tilecore itself has.",
        step="resolve",
        says="tilecore_target: field 'language' of TargetSpec has names of tilecore's own language",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_target(self):
    return replace(super().tilecore_target(), language={"copy": "acme:copy"})
""",
    ),
    BrokenPackage(
        "option_of_another_type",
        "The default of a pass configuration has another type than its values.",
        step="resolve",
        says="tilecore_target: field 'options' of TargetSpec is wrong",
        targets="broken",
        imports="from tilecore.contract.records import PassOption",
        backend="""\
@hookimpl
def tilecore_target(self):
    return replace(super().tilecore_target(), options=[PassOption("acme.unroll", "steps", 4)])
""",
    ),
    BrokenPackage(
        "half_target",
        "A record whose fields are not all right.",
        step="resolve",
        says="tilecore_target: field 'detect' of TargetSpec is wrong",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_target(self):
    return TargetSpec(self.kind, "half", self.capabilities, detect=None)
""",
    ),
    BrokenPackage(
        "install_half_done",
        "install is interrupted and does not say so: half of it is there, which installed does not take for whole.",
        step="install",
        says="Installable.install did not complete the installation",
        backend="""\
def install(self, request):
    place = Path(request.folder, "kit.part")
    place.write_text("half of the tools")
    return str(place)
""",
    ),
    BrokenPackage(
        "install_wrong_progress",
        "install tells its progress in the wrong words.",
        step="install",
        says="Installable.install called progress with wrong arguments",
        backend="""\
def install(self, request):
    request.progress("fetching", 0.5, None)
    return super().install(request)
""",
    ),
    BrokenPackage(
        "misspelt_hook",
        "A hook has a name that the contract does not know.",
        step="resolve",
        says="defines a hook that does not fit the contract",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_adaptors(self):
    return super().tilecore_adapters()
""",
    ),
    BrokenPackage(
        "newer_hook",
        "It has a hook that only a newer contract has.",
        step="resolve",
        says="defines a hook that does not fit the contract",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_tuning(self):
    return {}
""",
    ),
    BrokenPackage(
        "no_format",
        "build does not say of which format the binary is.",
        step="build",
        says="Toolchain.build returned a wrong value",
        backend="""\
def build(self, request):
    return b"binary", ""
""",
    ),
    BrokenPackage(
        "nonsense_from_adapters",
        "tilecore_adapters returns the wrong thing.",
        step="resolve",
        says="tilecore_adapters returned an object that is not an adapter",
        backend="""\
@hookimpl
def tilecore_adapters(self):
    return [HealthyAdapter]
""",
    ),
    BrokenPackage(
        "nonsense_from_codegen",
        "tilecore_codegen returns the wrong thing.",
        step="resolve",
        says="tilecore_codegen must return a Codegen",
        backend="""\
@hookimpl
def tilecore_codegen(self):
    return {"function": "f"}
""",
    ),
    BrokenPackage(
        "nonsense_from_lowering",
        "tilecore_lowering returns the wrong thing.",
        step="lowering",
        says="tilecore_lowering must return a Lowering",
        backend="""\
@hookimpl
def tilecore_lowering(self):
    return "simt"
""",
    ),
    BrokenPackage(
        "nonsense_from_target",
        "tilecore_target returns the wrong thing.",
        step="resolve",
        says="tilecore_target must return a TargetSpec",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_target(self):
    return None
""",
    ),
    BrokenPackage(
        "nonsense_from_toolchain",
        "tilecore_toolchain returns the wrong thing.",
        step="resolve",
        says="tilecore_toolchain must return a Toolchain",
        backend="""\
@hookimpl
def tilecore_toolchain(self):
    return Toolchain
""",
    ),
    BrokenPackage(
        "nonsense_later_from_build",
        "build returns the wrong thing when it is called.",
        step="build",
        says="Toolchain.build returned a wrong value",
        backend="""\
def build(self, request):
    return request.source
""",
    ),
    BrokenPackage(
        "nonsense_later_from_capabilities",
        "capabilities returns the wrong thing when it is called.",
        step="capabilities",
        says="TargetSpec.capabilities returned a wrong value",
        backend="""\
def capabilities(self, target):
    return {"float32"}
""",
    ),
    BrokenPackage(
        "nonsense_later_from_describe",
        "describe returns the wrong thing when it is called.",
        step="describe",
        says="Toolchain.describe returned a wrong value",
        backend="""\
def describe(self, binary):
    return {"k": 168}
""",
    ),
    BrokenPackage(
        "nonsense_later_from_remarks",
        "remarks returns the wrong thing when it is called.",
        step="remarks",
        says="Toolchain.remarks returned a wrong value",
        backend="""\
def remarks(self, artifact):
    return "many registers"
""",
    ),
    BrokenPackage(
        "nonsense_later_from_detect",
        "detect returns the wrong thing when it is called.",
        step="detect",
        says="TargetSpec.detect returned a wrong value",
        targets="broken",
        backend="""\
def detect(self):
    return True
""",
    ),
    BrokenPackage(
        "nonsense_later_from_find",
        "find returns the wrong thing when it is called.",
        step="find",
        says="Toolchain.find returned a wrong value",
        backend="""\
def find(self):
    return ["compiler"]
""",
    ),
    BrokenPackage(
        "nonsense_later_from_install",
        "install returns the wrong thing when it is called.",
        step="install",
        says="Installable.install returned a wrong value",
        backend="""\
def install(self, request):
    return b"/there"
""",
    ),
    BrokenPackage(
        "nonsense_later_from_installed",
        "installed returns the wrong thing when it is called.",
        step="installed",
        says="Installable.installed returned a wrong value",
        backend="""\
def installed(self, folder):
    return None
""",
    ),
    BrokenPackage(
        "nonsense_later_from_known_failures",
        "known_failures returns the wrong thing when it is called.",
        step="known_failures",
        says="TargetSpec.known_failures returned a wrong value",
        backend="""\
def known_failures(self, target):
    return {"test_math.py::*": None}
""",
    ),
    BrokenPackage(
        "nonsense_later_from_refused_names",
        "refused_names returns the wrong thing when it is called.",
        step="refused_names",
        says="TargetSpec.refused_names returned a wrong value",
        backend="""\
def refused_names(self, target):
    return {"spin": "another chip has it"}
""",
    ),
    BrokenPackage(
        "nonsense_later_from_resolve",
        "resolve returns the wrong thing when it is called.",
        step="resolve",
        says="TargetSpec.resolve returned the wrong target",
        backend="""\
def resolve(self, target):
    return target.with_attributes(surprise=1)
""",
    ),
    BrokenPackage(
        "nonsense_later_from_version",
        "version returns the wrong thing when it is called.",
        step="version",
        says="Toolchain.version returned a wrong value",
        backend="""\
def version(self, target):
    return (1, 2)
""",
    ),
    BrokenPackage(
        "other_function",
        "The code generator has a name that could be another backend's.",
        step="resolve",
        says="tilecore_codegen: field 'function' of Codegen is wrong",
        backend="""\
@hookimpl
def tilecore_codegen(self):
    return Codegen("target.build.c", "c", self.register)
""",
    ),
    BrokenPackage(
        "raises_in_adapters",
        "tilecore_adapters raises.",
        step="resolve",
        says="tilecore_adapters raised RuntimeError: out of adapters",
        backend="""\
@hookimpl
def tilecore_adapters(self):
    raise RuntimeError("out of adapters")
""",
    ),
    BrokenPackage(
        "raises_in_codegen",
        "tilecore_codegen raises.",
        step="resolve",
        says="tilecore_codegen raised RuntimeError: out of codegen",
        backend="""\
@hookimpl
def tilecore_codegen(self):
    raise RuntimeError("out of codegen")
""",
    ),
    BrokenPackage(
        "raises_in_lowering",
        "tilecore_lowering raises.",
        step="lowering",
        says="tilecore_lowering raised RuntimeError: out of lowering",
        backend="""\
@hookimpl
def tilecore_lowering(self):
    raise RuntimeError("out of lowering")
""",
    ),
    BrokenPackage(
        "raises_in_target",
        "tilecore_target raises.",
        step="resolve",
        says="tilecore_target raised RuntimeError: out of target",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_target(self):
    raise RuntimeError("out of target")
""",
    ),
    BrokenPackage(
        "raises_in_toolchain",
        "tilecore_toolchain raises.",
        step="resolve",
        says="tilecore_toolchain raised RuntimeError: out of toolchain",
        backend="""\
@hookimpl
def tilecore_toolchain(self):
    raise RuntimeError("out of toolchain")
""",
    ),
    BrokenPackage(
        "raises_later_in_build",
        "Toolchain.build raises when it is called.",
        step="build",
        says="Toolchain.build raised ZeroDivisionError:",
        backend="""\
def build(self, request):
    return 1 // 0
""",
    ),
    BrokenPackage(
        "raises_later_in_capabilities",
        "TargetSpec.capabilities raises when it is called.",
        step="capabilities",
        says="TargetSpec.capabilities raised ZeroDivisionError:",
        backend="""\
def capabilities(self, target):
    return 1 // 0
""",
    ),
    BrokenPackage(
        "raises_later_in_remarks",
        "remarks raises when it is called.",
        step="remarks",
        says="Toolchain.remarks raised RuntimeError: boom",
        backend="""\
def remarks(self, artifact):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "raises_later_in_describe",
        "describe raises when it is called.",
        step="describe",
        says="Toolchain.describe raised RuntimeError: boom",
        backend="""\
def describe(self, binary):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "raises_later_in_detect",
        "TargetSpec.detect raises when it is called.",
        step="detect",
        says="TargetSpec.detect raised ZeroDivisionError:",
        targets="broken",
        backend="""\
def detect(self):
    return 1 // 0
""",
    ),
    BrokenPackage(
        "raises_later_in_find",
        "Toolchain.find raises when it is called.",
        step="find",
        says="Toolchain.find raised ZeroDivisionError:",
        backend="""\
def find(self):
    return 1 // 0
""",
    ),
    BrokenPackage(
        "raises_later_in_install",
        "install raises when it is called.",
        step="install",
        says="Installable.install raised RuntimeError: boom",
        backend="""\
def install(self, request):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "raises_later_in_installed",
        "installed raises when it is called.",
        step="installed",
        says="Installable.installed raised RuntimeError: boom",
        backend="""\
def installed(self, folder):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "raises_later_in_known_failures",
        "known_failures raises when it is called.",
        step="known_failures",
        says="TargetSpec.known_failures raised RuntimeError: boom",
        backend="""\
def known_failures(self, target):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "raises_later_in_refused_names",
        "refused_names raises when it is called.",
        step="refused_names",
        says="TargetSpec.refused_names raised RuntimeError: boom",
        backend="""\
def refused_names(self, target):
    raise RuntimeError("boom")
""",
    ),
    BrokenPackage(
        "raises_later_in_register",
        "Codegen.register raises when it is called.",
        step="register",
        says="Codegen.register raised ZeroDivisionError:",
        backend="""\
def register(self):
    return 1 // 0
""",
    ),
    BrokenPackage(
        "raises_later_in_resolve",
        "TargetSpec.resolve raises when it is called.",
        step="resolve",
        says="TargetSpec.resolve raised ZeroDivisionError:",
        backend="""\
def resolve(self, target):
    return 1 // 0
""",
    ),
    BrokenPackage(
        "raises_later_in_version",
        "Toolchain.version raises when it is called.",
        step="version",
        says="Toolchain.version raised ZeroDivisionError:",
        backend="""\
def version(self, target):
    return 1 // 0
""",
    ),
    BrokenPackage(
        "refuses",
        "tilecore's own errors are the backend's answer to the user, not a fault: they pass as they are.",
        step="build",
        says="this compiler cannot do that",
        imports="from tilecore.errors import ToolchainError",
        backend="""\
def build(self, request):
    raise ToolchainError("this compiler cannot do that")
""",
    ),
    BrokenPackage(
        "same_adapter_twice",
        "Two adapters have one name.",
        step="resolve",
        says="tilecore_adapters returned two adapters named 'plain'",
        backend="""\
@hookimpl
def tilecore_adapters(self):
    return [HealthyAdapter(), HealthyAdapter()]
""",
    ),
    BrokenPackage(
        "undecorated",
        "A hook lacks its decorator.",
        step="resolve",
        says="lacks a hook that every backend needs",
        targets="broken",
        backend="""\
def tilecore_codegen(self):
    return None
""",
    ),
    BrokenPackage(
        "unknown_family",
        "A family of passes that there is not.",
        step="lowering",
        says="tilecore_lowering: field 'family' of Lowering is wrong",
        backend="""\
@hookimpl
def tilecore_lowering(self):
    return Lowering("quantum")
""",
    ),
    BrokenPackage(
        "unknown_field",
        "A record gets a field that only a newer contract has.",
        step="resolve",
        says="tilecore_target raised TypeError: TargetSpec.__init__() got an unexpected keyword argument 'colour'",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_target(self):
    return TargetSpec(self.kind, "newer", self.capabilities, self.detect, colour="red")
""",
    ),
    BrokenPackage(
        "wrong_arity",
        "A function of a record wants more arguments than it gets.",
        step="resolve",
        says="tilecore_toolchain: field 'build' of Toolchain is wrong",
        backend="""\
def build(self, request, flags):
    return b"", "text"
""",
    ),
    BrokenPackage(
        "wrong_signature",
        "A hook wants an argument that the contract does not give.",
        step="resolve",
        says="defines a hook that does not fit the contract",
        targets="broken",
        backend="""\
@hookimpl
def tilecore_target(self, config):
    return super().tilecore_target()
""",
    ),
)

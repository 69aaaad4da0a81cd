"""TVM is imported without the errors of its C++ code that it causes by itself, and with the same outcome."""

from __future__ import annotations

from fresh_processes import output_of

# what an import leaves: which operator has which name in scripts, and the modules
STATE = """
import hashlib, sys
import tvm
names = [str(name) for name in tvm.ir.Op.list_op_names()]
operators = [tvm.ir.Op.get(name) for name in names]
key = "TScriptPrinterName"
scripts = [str(op.get_attr(key)) if op.has_attr(key) else "" for op in operators]
modules = sorted(name for name in sys.modules if name.partition(".")[0] in ("tvm", "tvm_ffi"))
print(tvm.runtime.disco, len(names), sum(map(bool, scripts)), [m for m in modules if "disco" not in m])
print(hashlib.sha256(repr(sorted(zip(names, scripts))).encode()).hexdigest())
"""


def test_the_outcome_is_that_of_tvms_own_import():
    without_torch = 'import sys; sys.modules["torch"] = None\n'
    as_tvm_does = output_of(without_torch + STATE)
    assert output_of(f"{without_torch}import tilecore.ir.nodes{STATE}") == as_tvm_does
    assert as_tvm_does.startswith("None ")


def test_no_lookup_of_the_import_fails_in_tvm_and_its_functions_are_back_afterwards():
    code = """
import sys
from tilecore.ir import checked_lookups

failures = []
class Counting(checked_lookups._CheckedRegistry):
    def install(self):
        for name in ("_get", "_register_attribute"):
            setattr(self, name, self.counted(getattr(self, name)))
        super().install()

    def counted(self, function):
        def call(*arguments):
            try:
                return function(*arguments)
            except Exception as error:
                failures.append(error)
                raise
        return call

checked_lookups._CheckedRegistry = Counting
import tilecore.ir.nodes
assert not failures, failures
assert "tvm.runtime.disco.session" not in sys.modules
hidden = [type(f).__name__ for f in sys.meta_path if type(f).__module__.startswith("tilecore.ir.")]
assert not hidden, hidden
print("right")
"""
    assert output_of(code) == "right\n"
    code = """
import tilecore.ir.nodes
from tvm.ir import Op, _ffi_api
import tvm_ffi
assert isinstance(_ffi_api.GetOp, tvm_ffi.Function) and isinstance(_ffi_api.RegisterOpAttr, tvm_ffi.Function)
try:
    Op.get("tirx.no_such_operator")
except AttributeError as error:
    print("Check failed" in str(error))
"""
    assert output_of(code) == "True\n"


def test_the_language_knows_its_own_modules_without_asking_backends():
    code = """
from tilecore.plugins import manager
def ask(*arguments, **options):
    raise AssertionError("a backend is asked")
manager.Manager._ask_plugin = ask
import tilecore.language as T
from tilecore.language import slices
import tilecore.demo.kernels as kernels
assert T.slices is slices
kernels.matmul.get_tir(64, 64, 64)
print("right")
"""
    assert output_of(code) == "right\n"

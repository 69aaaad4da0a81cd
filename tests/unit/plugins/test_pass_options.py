"""Pass configurations: each target reads the ones that its backend declares, and says what it ignores."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import SimpleNamespace

import pytest

import tilecore
import tilecore.language as T
from tilecore.contract.hookspecs import hookimpl
from tilecore.contract.records import PassOption
from tilecore.errors import LanguageError, PluginError, TargetError
from tilecore.plugins import manager, pass_options
from tilecore.testing import null_backend
from tilecore.transform import KNOWN_ELSEWHERE, PassConfigKey, PassConfigWarning, plain_pass_configs

UNROLL = PassOption("acme.unroll", "iterations of a loop in one step", 4, int)


@T.prim_func
def kernel(X: T.Tensor((8,), "float32")):
    with T.Kernel(1):
        for i in T.Parallel(8):
            X[i] += 1


@pytest.fixture(autouse=True)
def nothing_was_warned_of(monkeypatch):
    monkeypatch.setattr(pass_options, "_warned", set())


def installed(options):
    @hookimpl
    def tilecore_target():
        return replace(null_backend.tilecore_target(), options=options)

    plugin = SimpleNamespace(**{**vars(null_backend), "tilecore_target": tilecore_target})
    return manager.register(plugin, package="tile-acme")


def warned(configs, target="null"):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tilecore.compile(kernel, target=target, pass_configs=configs)
    return [str(w.message) for w in caught if w.category is PassConfigWarning]


def test_a_declared_option_is_taken_and_has_a_default():
    with installed((UNROLL,)):
        assert warned({"acme.unroll": 8}) == []
        assert pass_options.checked_pass_configs({"acme.unroll": 8}, manager.get("null")) == {"acme.unroll": 8}
    assert (UNROLL.value_in({"acme.unroll": 8}), UNROLL.value_in({})) == (8, 4)


@pytest.mark.parametrize("key", [PassConfigKey.TL_FORCE_LET_INLINE, "tl.force_let_inline"])
def test_a_known_key_that_nobody_reads_warns_once(key):
    with installed(()):
        assert warned({key: True}) == [
            "pass configuration 'tl.force_let_inline': ignored, as nothing on target 'null' reads it; "
            "in TileLang or TVM it inlines every binding"
        ]
        assert warned({key: True}) == []


@pytest.mark.filterwarnings("ignore::tilecore.transform.PassConfigWarning")
@pytest.mark.parametrize(
    "key", [*PassConfigKey, *KNOWN_ELSEWHERE, "tir.any", "tirx.any", "tl.disable_safe_memory_access"]
)
def test_every_known_key_is_accepted(key):
    with installed(()):
        assert pass_options.checked_pass_configs({key: 1}, manager.get("null"))


@pytest.mark.filterwarnings("ignore::tilecore.transform.PassConfigWarning")
def test_the_folder_of_emitted_kernels_has_a_key_for_every_kind_of_target():
    assert PassConfigKey.CUDA_KERNELS_OUTPUT_DIR == "cuda.kernels_output_dir"
    with installed(()):
        pass_options.checked_pass_configs({PassConfigKey.CUDA_KERNELS_OUTPUT_DIR: "x"}, manager.get("null"))


def test_a_warning_points_at_the_line_of_the_caller():
    with installed(()), pytest.warns(PassConfigWarning) as caught:
        tilecore.compile(kernel, target="null", pass_configs={"tl.force_let_inline": True})
    assert caught[0].filename == __file__


def test_a_backend_that_declares_nothing_gets_known_keys_without_a_word():
    with installed(None):
        assert warned({"tl.force_let_inline": True}) == []
        with pytest.raises(TargetError, match=r"unknown pass configuration 'acme.unroll'"):
            warned({"acme.unroll": 8})


def test_an_unknown_key_names_the_nearest_and_the_options_of_the_target():
    with installed((UNROLL,)), pytest.raises(TargetError, match=r"unknown pass configuration 'acme.unrol'") as caught:
        warned({"acme.unrol": 8})
    assert caught.value.expected == (
        "an option that an installed target reads; those of target 'null': "
        "acme.unroll, tl.device_compile_flags, tl.dump_ir_path, tl.enable_dump_ir"
    )
    assert caught.value.hint == (
        "did you mean 'acme.unroll'? `tilecore passes --target null` describes the options of a target"
    )


def test_an_option_of_another_target_is_ignored_with_a_warning():
    with installed((UNROLL,)):
        assert warned({"acme.unroll": 8}, "cpu") == [
            "pass configuration 'acme.unroll': ignored, as nothing on target 'cpu' reads it; "
            "it is an option of other targets"
        ]


@pytest.mark.parametrize(("value", "count"), [(True, 0), (0, 0), (None, 0), ("False", 1), (2, 1)])
def test_a_value_of_another_type_is_warned_of(value, count):
    with installed((PassOption("acme.exact", "exact forms only"),)):
        assert len(warned({"acme.exact": value})) == count


def test_the_kernel_sets_options_of_any_target():
    def annotated(key):
        @T.prim_func
        def kernel(X: T.Tensor((8,), "float32")):
            T.annotate_pass_configs({key: 8})
            with T.Kernel(1):
                for i in T.Parallel(8):
                    X[i] += 1

        return kernel

    with installed((UNROLL,)):
        kernel = annotated("acme.unroll")
        for target, count in (("null", 0), ("cpu", 1)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                tilecore.lower(kernel, target=target)
            assert len([w for w in caught if w.category is PassConfigWarning]) == count
        with pytest.raises(LanguageError, match=r"unknown pass configuration 'acme.no_such'"):
            annotated("acme.no_such")


@pytest.mark.parametrize("options", [{"acme.unroll": 4}, [UNROLL, UNROLL], ["acme.unroll"], [replace(UNROLL, doc="")]])
def test_declarations_are_checked(options):
    with installed(options), pytest.raises(PluginError, match="field 'options' of TargetSpec is wrong"):
        manager.get("null")


def test_plain_keys():
    assert plain_pass_configs({PassConfigKey.TL_SIMPLIFY: 1, "tl.disable_safe_memory_access": True}) == {
        "tl.Simplify": 1,
        "tl.disable_safe_memory_legalize": True,
    }
    with pytest.raises(TargetError, match="pass_configs must be a dict"):
        plain_pass_configs(["tl.Simplify"])


@pytest.mark.parametrize("flags", ["-a '-b c'", ["-a", "-b c"], ("-a", "-b c")])
def test_flags_for_the_compiler_of_the_device(flags):
    """From the caller, from the kernel, behind those of compile_flags."""
    key = PassConfigKey.TL_DEVICE_COMPILE_FLAGS
    assert warned({key: flags}, "cpu") == []
    assert pass_options.device_flags(pass_options.known_pass_configs({key: flags})) == ("-a", "-b c")
    with pytest.raises(TargetError, match="must be text"):
        pass_options.device_flags({str(key): 5})


def test_the_folder_for_kernels_of_a_target():
    """TVM's key behind the name of a target, which programs may set whatever they run on."""
    (words,) = warned({"cuda.kernels_output_dir": "kernels"}, "cpu")
    assert "in TileLang or TVM it names the folder for emitted kernels, as TILECORE_DUMP does here" in words

"""describe_launch: the L2 window and the tensor maps of each kernel become its attribute ``simt.launch``."""

from __future__ import annotations

import json

import tilecore.language as T
from tilecore.testing.kernel_text import text

from .kernels import loaded_by_tma, product, scaled
from .one_pass import AMPERE, around_pass

PASS = "describe_launch"


def launches(module):
    return [json.loads(str(func.attrs.get("simt.launch") or "{}")) for func in module.functions.values()]


def test_a_window_names_its_parameter_by_number():
    @T.prim_func
    def kernels(X: T.Tensor((64,), "float32"), Y: T.Tensor((64,), "float32")):
        with T.Kernel(1, threads=32):
            X[0] = 1.0
        with T.Kernel(1, threads=32):
            T.annotate_l2_hit_ratio({Y: 0.5})
            X[1] = Y[0]

    before, after, _ = around_pass(kernels, PASS)
    assert launches(before) == [{}, {}]
    assert launches(after) == [{}, {"l2_window": [1, 256, 0.5]}]
    assert text(before) == text(after)


def test_tensor_maps_name_their_parameter_and_box():
    _, after, _ = around_pass(loaded_by_tma(), PASS)
    (launch,) = launches(after)
    (tensor_map,) = launch["tensor_maps"]
    assert (tensor_map["tensor"], tensor_map["slot"], tensor_map["box"]) == ("A", 0, [64, 64])
    assert tensor_map["parameter"] == "A_map"


def test_a_tensor_that_a_tensor_map_stores_is_written():
    _, after, _ = around_pass(product(), PASS)
    (tensor_map,) = launches(after)[0]["tensor_maps"]
    assert (tensor_map["tensor"], tensor_map["slot"]) == ("C", 2)
    (func,) = after.functions.values()
    assert {str(name): str(access) for name, access in func.attrs["simt.access"].items()} == {
        "A": "r",
        "B": "r",
        "C": "w",
    }


def test_plain_launches_have_no_attribute():
    for kernel, target in ((scaled, "cuda -arch=sm_90a"), (product(), AMPERE)):
        _, after, _ = around_pass(kernel, PASS, target)
        assert all("simt.launch" not in func.attrs for func in after.functions.values())

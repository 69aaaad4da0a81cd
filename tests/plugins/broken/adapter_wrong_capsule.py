"""A native launch that takes the device, in the capsule of one that does not.

step: load
says: plain.load returned a LoadedKernel with a wrong launch
"""

import ctypes

from tile_healthy import Healthy, HealthyAdapter

from tilecore.contract.adapter import LoadedKernel


class BrokenAdapter(HealthyAdapter):
    def load(self, artifact):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return LoadedKernel(new(16, b"tilecore.launch", None), on_device=True)


class Broken(Healthy):
    kind = "adapter_wrong_capsule"
    adapter = BrokenAdapter


plugin = Broken()

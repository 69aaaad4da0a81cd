"""Times and checks kernels: ``do_bench``, ``Profiler`` and the inputs that they make.

Importing it imports neither numpy nor torch.
"""

from tilecore.profiler.bench import do_bench
from tilecore.profiler.profiler import Profiler
from tilecore.profiler.supply import TensorSupplyType
from tilecore.profiler.warning import ProfilerWarning

__all__ = ["Profiler", "ProfilerWarning", "TensorSupplyType", "do_bench"]

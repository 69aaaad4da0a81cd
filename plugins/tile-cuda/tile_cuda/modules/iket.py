"""``tilecore.tools.cuda.iket``: left out; importing it says so."""

raise ImportError(
    "tilecore.tools.cuda.iket, the tracer inside of kernels, is not there; instead: "
    "kernel.get_profiler().do_bench() times a kernel, and NVIDIA Nsight Compute (ncu) shows what limits it"
)

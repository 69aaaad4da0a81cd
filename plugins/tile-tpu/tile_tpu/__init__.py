"""tilecore's backend for SophGo's tensor processors: readable C for tpu_kernel.h."""

"""tilecore's backend for OpenCL devices, written from the documented contract alone."""

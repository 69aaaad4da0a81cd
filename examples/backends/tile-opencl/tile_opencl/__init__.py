"""A backend of tilecore for OpenCL devices, written from the documented contract alone."""

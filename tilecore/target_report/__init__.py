"""Reports for several targets whether and how they compile the kernels of a file, without a device."""

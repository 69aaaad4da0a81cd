"""tilecore on NVIDIA GPUs."""

"""The backend of tilecore for NVIDIA GPUs."""

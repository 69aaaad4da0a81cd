"""The backend of tilecore for AMD GPUs, target ``hip``."""

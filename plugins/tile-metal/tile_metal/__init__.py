"""The backend of tilecore for Apple GPUs: target ``metal``."""

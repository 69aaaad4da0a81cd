"""``python -m tilecore``: the command line."""

from tilecore.cli import main

if __name__ == "__main__":
    main()

"""`python -m fedadp` is `fedadp`."""

from fedadp.cli import main

if __name__ == "__main__":
    main()

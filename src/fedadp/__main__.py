"""`python -m fedadp` is `fedadp`: signals are minded before anything large is imported."""

from fedadp import stopping


def main() -> None:
    """The command line."""
    stopping.install()
    from fedadp.cli import app

    app()


if __name__ == "__main__":
    main()

"""Entry point of `python -m sophon_hosting.cli`, for when the script `sophon` is not on the PATH."""

from sophon_hosting.cli import main

if __name__ == "__main__":
    main()

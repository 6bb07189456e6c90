"""`python -m sophon_hosting.cli`, where the script `sophon` is not on the path."""

from sophon_hosting.cli import main

if __name__ == "__main__":
    main()

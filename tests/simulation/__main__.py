"""`make simulate`: run many histories, and report what they break."""

from tests.simulation.program import main

if __name__ == "__main__":
    raise SystemExit(main())

"""Records the shapes of all answers of the API anew: `python -m tests.hosting.http.api_shapes`."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hosting.http.api_shapes.recorder import write_recording
from tests.hosting.http.api_shapes.scenario import play


def main() -> None:
    """Play the scenario once, and replace the recording."""
    with TemporaryDirectory() as folder:
        write_recording(asyncio.run(play(Path(folder))).recorder.rows)


if __name__ == "__main__":
    main()

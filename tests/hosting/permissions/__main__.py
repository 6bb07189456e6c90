"""Writes the table of permissions in docs/trust-model.md anew: `python -m tests.hosting.permissions`.

Who may do what is decided by whoever reviews the change of that page.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from sophon_hosting.features.registry import REGISTRY
from tests.hosting.permissions.page import render_all, write_table
from tests.hosting.permissions.survey import survey_of


async def main() -> None:
    """Survey a host once, and replace the table."""
    with TemporaryDirectory() as folder:
        async with survey_of(Path(folder), REGISTRY) as survey:
            write_table(await render_all(survey, REGISTRY))


if __name__ == "__main__":
    asyncio.run(main())

"""Writes the table of permissions in docs/trust-model.md anew: `python -m tests.hosting.permissions` (`make generate`).

Who may do what is decided by whoever reviews the change of that page.
"""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from sophon_hosting.features.registry import builtin_operations
from tests.hosting.permissions.page import PAGE, render_page, render_permissions
from tests.hosting.permissions.survey import survey_of


async def main() -> None:
    """Survey a host once, and replace the table."""
    with TemporaryDirectory() as folder:
        async with survey_of(Path(folder), builtin_operations()) as survey:
            table = await render_permissions(survey, builtin_operations())
    PAGE.write_text(render_page(PAGE.read_text(encoding="utf-8"), table), encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(main())

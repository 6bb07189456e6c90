"""One surveyed host for all tests of a file."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sophon_hosting.features.registry import builtin_operations
from tests.hosting.permissions.survey import Survey, survey_of


@pytest.fixture(scope="module")
async def survey(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Survey]:
    folder: Path = tmp_path_factory.mktemp("surveyed")
    async with survey_of(folder, builtin_operations()) as found:
        yield found

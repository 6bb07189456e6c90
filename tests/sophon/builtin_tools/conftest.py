"""A turn whose files lie in a folder of the test's own."""

from pathlib import Path

import pytest

from sophon import Context, Services
from sophon.testing import VirtualClock


@pytest.fixture
def services(tmp_path: Path) -> Services:
    settings = {"Tools": {"FilesRoot": "files", "AllowCidrs": ["127.0.0.1/32"]}}
    return Services(clock=VirtualClock(), folder=tmp_path, settings=settings)


@pytest.fixture
def ctx(services: Services) -> Context:
    return services.turn("Hello", session_id="demo", principal="ada", channel="telegram")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The files folder of Ada; it does not exist yet."""
    return tmp_path / "files" / "principals" / "ada"

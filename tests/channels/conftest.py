"""The package of docs/own-channel.md, installed for the tests of channels."""

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.channels.email.page_package import install_page_package


@pytest.fixture(scope="session")
def email_package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module `sophon_email.parsing`."""
    folder = tmp_path_factory.mktemp("email-package")
    install_page_package(folder)
    import sophon_email.parsing  # type: ignore[import-not-found]

    yield sophon_email.parsing
    sys.path.remove(str(folder))

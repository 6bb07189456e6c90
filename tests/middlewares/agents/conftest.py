"""Turns with agents in files."""

from pathlib import Path

import pytest

from tests.agents import Workshop


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    workshop = Workshop(tmp_path)
    workshop.write("helper")
    return workshop

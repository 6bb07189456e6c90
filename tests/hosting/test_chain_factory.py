"""The chain of the settings: a factory that leads nowhere is told with the setting's path, in a line."""

from pathlib import Path

import pytest

from sophon import Services
from sophon.errors import CompositionError, SettingsError
from sophon_hosting.chain_factory import build_configured_chain

MODULE = """
from sophon import Pipeline
from sophon_middlewares.chains import twelve

five = 5


def chain(services):
    return Pipeline.compose(*twelve(services))


async def later(services):
    return chain(services)


def broken(services):
    return services.nothing


def empty(services):
    return None


def impossible(services):
    return Pipeline.compose(five)
"""


@pytest.fixture
def chain(tmp_path: Path, request: pytest.FixtureRequest):
    """Makes the chain of a factory in a module of the person's."""
    module = f"chains_{abs(hash(request.node.name))}"  # each test has a module that nobody imported before
    (tmp_path / f"{module}.py").write_text(MODULE)

    def make(factory: str):
        path = factory.replace("chains", module)
        return build_configured_chain(Services(settings={"Chain": {"Factory": path}}, folder=tmp_path))

    return make


def test_a_factory_gives_the_chain(chain) -> None:
    assert "AgenticLoop" in chain("chains:chain").explain()


@pytest.mark.parametrize(
    ("factory", "told"),
    [
        ("nowhere_at_all:chain", "there is no module 'nowhere_at_all'"),
        ("chains:nothing", "has no 'nothing'"),
        ("chains:five", "is not a function"),
        ("chains:later", "is async; it must be a plain function"),
        ("chains:broken", "failed: AttributeError"),
        ("chains:empty", "returned NoneType, not a Pipeline"),
    ],
)
def test_a_factory_that_gives_none_is_told_in_a_line(chain, factory: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        chain(factory)
    [line] = caught.value.problems
    assert line.startswith("Chain.Factory: ")
    assert "\n" not in line


def test_a_chain_that_cannot_work_says_so_itself(chain) -> None:
    with pytest.raises(CompositionError, match="5"):
        chain("chains:impossible")

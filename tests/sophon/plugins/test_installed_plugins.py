"""What other distributions offer by entry points is found, loaded, and named when it cannot be."""

from pathlib import Path

import pytest

from sophon import Services
from sophon.entry_points import find_entry_points
from sophon.errors import SettingsError
from sophon.plugins.installed_plugins import MODELS_GROUP, TOOLS_GROUP, load_installed_tools
from sophon_hosting.host_chain import build_configured_chain

CODE = '''
from sophon import Pipeline, Response, tool
from sophon.testing import FunctionModel


@tool
async def plugged() -> str:
    """A tool from elsewhere."""
    return "plugged in"


async def answer(request):
    return "from elsewhere"


def model():
    return FunctionModel(answer)


async def short(ctx, next):
    ctx.response = Response("short")


def chain(services):
    return Pipeline.compose(short)


nothing = 42
'''


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put a distribution with the given entry points where Python finds it."""

    def put(entry_points: str) -> None:
        (tmp_path / "sophon_plugin_of_a_test.py").write_text(CODE)
        info = tmp_path / "plugin_of_a_test-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugin-of-a-test\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(entry_points.replace("@", "sophon_plugin_of_a_test"))
        monkeypatch.syspath_prepend(str(tmp_path))

    return put


@pytest.mark.parametrize("target", ["@", "@:plugged"], ids=["a module", "a tool"])
def test_an_installed_tool_is_registered_behind_ones_own(install, target: str) -> None:
    install(f"[{TOOLS_GROUP}]\nmine = {target}\n")

    services = Services.from_settings(environment={}, folder=Path("/nonexistent"), store=Services().store)

    assert [tool.name for tool in load_installed_tools()] == ["plugged"]
    assert services.registry.get("plugged") is not None


@pytest.mark.parametrize(("target", "sentence"), [("@:gone", "cannot be loaded"), ("@:nothing", "contains no @tool")])
def test_an_entry_point_that_gives_nothing_is_named(install, target: str, sentence: str) -> None:
    install(f"[{TOOLS_GROUP}]\nmine = {target}\n")

    with pytest.raises(SettingsError, match=f"'mine' in sophon.tools of plugin-of-a-test {sentence}"):
        load_installed_tools()


async def test_an_installed_model_is_a_type_of_provider(install) -> None:
    install(f"[{MODELS_GROUP}]\nelsewhere = @:model\n")
    settings = {"Providers": [{"Id": "p", "Type": "elsewhere"}]}

    services = Services.from_settings(Services(settings=settings).settings, environment={}, store=Services().store)

    assert services.gateway.candidates()[0].info.provider == "p"


async def test_an_installed_chain_is_chosen_by_its_name(install) -> None:
    install("[sophon.middlewares]\nshortest = @:chain\n")
    services = Services(settings={"Chain": {"Name": "shortest"}})

    assert (await build_configured_chain(services).run(services.turn("hi"))).text == "short"


def test_a_group_without_entry_points_is_empty() -> None:
    assert find_entry_points("sophon.nobody") == {}

"""Labels of the page: each middleware that a host has without code of one's own, in each of the five chains."""

import re
from pathlib import Path

import pytest

from sophon import Services
from sophon.chain.order_constraints import get_middleware_name
from sophon.settings import GuardsSettings
from sophon_hosting.host_chain import build_configured_chain
from sophon_middlewares.chains import CHAINS
from sophon_middlewares.chains.additions import ADDITIONS, GUARDS

SOURCE = Path(__file__).parents[2] / "hosting" / "web" / "src" / "model" / "middleware-labels.ts"
EVERYTHING = {
    "CustomTools": {"Enabled": True},
    "Decisions": {"Enabled": True},
    "Learning": {"Enabled": True},
    "Replies": {"Validator": {"Enabled": True}, "Announcer": {"Enabled": True}, "UrlOutcomes": True},
    "Guards": {field.alias: {"Enabled": True} for field in GuardsSettings.model_fields.values()},
}


@pytest.mark.parametrize("chain", CHAINS)
def test_each_middleware_has_a_label_of_the_page(chain: str) -> None:
    labelled = set(re.findall(r'^  (\w+): \(\) =>|"(\w+)"[,\]]', SOURCE.read_text(), re.MULTILINE))
    known = {name for pair in labelled for name in pair}
    services = Services(settings={"Chain": {"Name": chain}, **EVERYTHING})
    names = {get_middleware_name(each) for each in build_configured_chain(services)}
    assert names <= known, names - known


def test_whatever_a_setting_adds_has_a_label_of_the_page() -> None:
    labelled = set(re.findall(r"\w+", SOURCE.read_text()))
    # The page shows the chain of conversations that are kept, without OffTheRecord.
    assert {each.name for each in (*ADDITIONS, *GUARDS)} - {"OffTheRecord"} <= labelled

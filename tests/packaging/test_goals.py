"""A host without goals imports neither their engine nor their tools; only the rules that its store knows."""

from tests.packaging.test_imports import modules_loaded_by

HOST = """
from pathlib import Path
from sophon import Services
from sophon_hosting.store.sql_host_store import SqlHostStore
from sophon_hosting.features.goals.feature import GOAL_ENGINE
from sophon_hosting.host_server import HostServer
server = HostServer(Services(settings={"Goals": {"Enabled": %s}}, store=SqlHostStore("memory://")), {})
assert (server.host.feature_services.find(GOAL_ENGINE) is not None) is %s
"""
OF_GOALS = (
    "sophon_hosting.features.goals.engine",
    "sophon_hosting.features.goals.governor",
    "sophon_hosting.features.goals.tools",
    "sophon_hosting.features.goals.planner.planner_prompts",
)


def test_a_host_without_goals_imports_no_engine_and_no_tools() -> None:
    assert not [name for name in modules_loaded_by(HOST % (False, False)) if name.startswith(OF_GOALS)]


def test_a_host_with_goals_imports_both() -> None:
    loaded = modules_loaded_by(HOST % (True, True))
    assert {"sophon_hosting.features.goals.engine", "sophon_hosting.features.goals.tools"} <= loaded

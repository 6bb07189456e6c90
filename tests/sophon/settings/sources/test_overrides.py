"""Environment variables and command line pairs: how names and values are read."""

from typing import Any

from sophon.settings.root import load_settings_type
from sophon.settings.sources.layers import merge_layers
from sophon.settings.sources.overrides import layers_from_environment, layers_from_pairs
from tests.tables import table


def variables(environment: dict[str, str]) -> dict[str, Any]:
    layers, problems = layers_from_environment(load_settings_type(), environment)
    assert problems == []
    return merge_layers(layers)


@table(
    ("name", "value", "expected"),
    [
        ("SOPHON__AgentExecution__MaxToolIterations", "50", {"AgentExecution": {"MaxToolIterations": 50}}),
        ("sophon__AGENTEXECUTION__maxtooliterations", "50", {"AgentExecution": {"MaxToolIterations": 50}}),
        ("SOPHON__AGENT_EXECUTION__PLAN_MAX_STEPS", "5", {"AgentExecution": {"PlanMaxSteps": 5}}),
        ("SOPHON__Memory__Enabled", "False", {"Memory": {"Enabled": False}}),
        ("SOPHON__Approval__AutoApproveUpTo", "null", {"Approval": {"AutoApproveUpTo": None}}),
        ("SOPHON__Approval__AutoApproveUpTo", "medium", {"Approval": {"AutoApproveUpTo": "medium"}}),
        ("SOPHON__Tools__Modules", '["a", "b"]', {"Tools": {"Modules": ["a", "b"]}}),
        ("SOPHON__Budget__Providers__Mine__DailyTokens", "9", {"Budget": {"Providers": {"Mine": {"DailyTokens": 9}}}}),
        ("SOPHON__Budget__Turn", '{"Cost": 1}', {"Budget": {"Turn": {"Cost": 1}}}),
        ("SOPHON__Store__Url", '{"$env": "DB"}', {"Store": {"Url": {"$env": "DB"}}}),
        ("SOPHON__Queue__Url", "0123", {"Queue": {"Url": "0123"}}),
        ("SOPHON__Hub__Host", '"::1"', {"Hub": {"Host": "::1"}}),
        ("SOPHON__Unknown__Key", "[1", {"Unknown": {"Key": "[1"}}),
        ("SOPHON__Hub__Port", "1" * 5000, {"Hub": {"Port": "1" * 5000}}),
    ],
)
def test_a_variable_names_a_setting_and_holds_json_or_a_text(name: str, value: str, expected: dict[str, Any]):
    assert variables({name: value}) == expected


@table("value", ["0123", "123", "1.10", "1e9", "true"])
def test_a_text_stays_as_it_was_typed(value: str):
    found = variables({"SOPHON__Channels__WhatsApp__PhoneNumberId": value, "SOPHON__Channels__Telegram__Token": value})
    assert found == {"Channels": {"WhatsApp": {"PhoneNumberId": value}, "Telegram": {"Token": value}}}


def test_the_more_specific_variable_wins_whatever_the_order():
    environment = {"SOPHON__Hub__Port": "2", "SOPHON__Hub": '{"Port": 1, "Host": "::1"}'}
    expected = {"Hub": {"Port": 2, "Host": "::1"}}
    assert variables(environment) == variables(dict(reversed(environment.items()))) == expected


def test_other_variables_are_not_ours():
    assert variables({"SOPHON_ENVIRONMENT": "x", "SOPHON_TOKEN": "y", "XSOPHON__Hub__Port": "1"}) == {}


@table(
    "overrides",
    [["Hub.Port=9"], ["Hub:Port=9"], ["--Hub:Port=9"], ["sophon.hub.port=9"], {"Hub.Port": 9}, {"hub:PORT": "9"}],
)
def test_a_pair_may_be_written_in_several_ways(overrides: Any):
    layers, problems = layers_from_pairs(load_settings_type(), overrides)
    assert problems == []
    assert merge_layers(layers) == {"Hub": {"Port": 9}}


def test_a_value_may_hold_any_sign():
    layers, _ = layers_from_pairs(
        load_settings_type(), ["Store.Url=sqlite:///a=b.c:d", "Budget:Providers:gpt.5:MonthlyCost=1.5"]
    )
    assert merge_layers(layers) == {
        "Store": {"Url": "sqlite:///a=b.c:d"},
        "Budget": {"Providers": {"gpt.5": {"MonthlyCost": 1.5}}},
    }


def test_of_two_pairs_for_one_setting_the_later_wins():
    layers, _ = layers_from_pairs(load_settings_type(), ["Hub.Port=1", "Hub.Port=2"])
    assert merge_layers(layers) == {"Hub": {"Port": 2}}

"""The settings themselves: defaults, strictness, and every mistake told at once."""

import subprocess
import sys
from dataclasses import FrozenInstanceError
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from sophon.composition.setting_references import find_unknown_budgets
from sophon.errors import SettingsError
from sophon.settings import ProviderBudgetSettings, Settings
from sophon.settings.types.section import SettingsSection
from sophon_hosting.settings.channels import ChannelsSettings
from tests.tables import table

ROOT = Path(__file__).parents[3]
PROVIDER = {"Id": "a", "Type": "openai"}

CONTRACT: dict[str, Any] = {
    "AgentExecution": {
        "MaxToolIterations": 100,
        "MaxToolIterationsHardLimit": 500,
        "PlanMaxSteps": 20,
        "MaxExecutionTime": "02:00:00",
        "MaxConcurrentTasks": 3,
    },
    "Providers": [],
    "Budget": {
        "Providers": {"*": {"DailyTokens": None, "MonthlyCost": None}},
        "TimeZone": "UTC",
        "Turn": {"Tokens": 1000000, "Cost": 5.0, "ToolCalls": 500, "ActiveTime": None},
    },
    "ContextWindow": {"Trigger": 0.8, "Oldest": 0.6, "Timeout": "00:00:30", "Fallback": 0.7},
    "ToolFilter": {"Top": 10},
    "Planning": {"Mode": "Auto", "MaxDepth": 3},
    "Approval": {"AskFrom": "High", "Timeout": "00:05:00", "OnTimeout": "Deny", "AutoApproveUpTo": None},
    "Chain": {"Name": "twelve", "Factory": None},
    "Tools": {"Modules": [], "Disabled": [], "FilesRoot": "data/files"},
    "Guards": {},
    "Memory": {},
    "Queue": {"Backend": "Memory", "Capacity": 100},
    "Store": {"Url": "sqlite:///data/sophon.db"},
    "Hub": {"Host": "127.0.0.1", "Port": 8080, "AllowedOrigins": []},
    "Channels": {
        "Telegram": {
            "Enabled": False,
            "Token": {"$env": "TELEGRAM_TOKEN"},
            "ApiBase": None,
            "Mode": "Polling",
            "WebhookSecret": None,
            "AllowFrom": [],
            "Approvers": [],
            "DirectPolicy": "Pairing",
            "GroupPolicy": "MentionOnly",
            "AllowedGroups": [],
        },
        "WhatsApp": {
            "Enabled": False,
            "PhoneNumberId": None,
            "AccessToken": None,
            "AppSecret": None,
            "VerifyToken": None,
            "ApiBase": None,
            "AllowFrom": [],
            "Approvers": [],
            "DirectPolicy": "Pairing",
        },
    },
}


def test_the_defaults_are_those_of_the_contract():
    assert Settings.from_mapping(CONTRACT) == Settings.from_mapping({}) == Settings()


def test_the_defaults_that_are_not_validated_are_valid():
    defaults, validated = Settings.defaults(), Settings.model_validate({})
    assert defaults == validated == Settings.from_mapping({})
    assert defaults.model_dump() == validated.model_dump()
    for name in Settings.model_fields:
        section = getattr(defaults, name)
        if isinstance(section, SettingsSection):
            assert section == type(section).model_validate({}), name


def test_durations_are_timedeltas_in_python():
    assert Settings().agent_execution.max_execution_time == timedelta(hours=2)


def test_settings_cannot_be_changed():
    with pytest.raises(FrozenInstanceError, match="frozen"):
        Settings().tool_filter.top = 1  # type: ignore[misc]  # that it is refused is the point


def test_keys_may_be_written_as_in_python():
    settings = Settings.from_mapping(
        {"agent_execution": {"plan_max_steps": 7}, "channels": {"whatsapp": {"approvers": [5]}}}
    )
    assert settings.agent_execution.plan_max_steps == 7
    assert settings.section(ChannelsSettings).whatsapp.approvers == ("5",)


def test_the_entry_of_a_provider_replaces_the_one_for_all():
    settings = Settings.from_mapping(
        {"Budget": {"Providers": {"*": {"DailyTokens": 10}, "a": {"MonthlyCost": 1}}}, "Providers": [PROVIDER]}
    )
    assert settings.budget.limits_for("a") == ProviderBudgetSettings(monthly_cost=1.0)
    assert settings.budget.limits_for("b") == ProviderBudgetSettings(daily_tokens=10)


def test_all_mistakes_are_told_at_once():
    with pytest.raises(SettingsError) as caught:
        Settings.from_mapping(
            {
                "AgentExecution": {"MaxToolIteration": 5},
                "Hub": {"Port": "abc"},
                "Providers": [{"Id": "a", "Type": "python"}, {"Id": "a", "Type": "openai", "Priority": "x"}],
                "Budget": {"Providers": {"b": {}}},
            }
        )
    assert caught.value.problems == [
        "AgentExecution.MaxToolIteration: unknown setting; did you mean MaxToolIterations?",
        "Providers[0].Factory: required for a provider of type 'python'; write it as \"package.module:function\"",
        "Providers[1].Priority: 'x' is not a whole number",
        "Hub.Port: 'abc' is not a whole number",
        "Providers[1].Id: 'a' is already the Id of number 1 in the list",
        "Budget.Providers.b: there is no provider with this Id",
    ]


@table(
    ("values", "problem"),
    [
        ({"Hubb": {}}, "Hubb: unknown setting; did you mean Hub?"),
        ({"hub": {"port": 1, "PROT": 1}}, "Hub.PROT: unknown setting; did you mean Port?"),
        ({"Guards": {"Xyzzy": 1}}, "Guards.Xyzzy: unknown setting"),
        ({"Hub": []}, "Hub: a mapping ({...}) is expected, not a list"),
        ({"Hub": None}, "Hub: a mapping ({...}) is expected, not null"),
        ({"Providers": {}}, "Providers: a list ([...]) is expected, not a mapping"),
        ({"Tools": {"Modules": "my_bot"}}, "Tools.Modules: a list ([...]) is expected, not a text"),
        ({"Tools": {"Modules": [1]}}, "Tools.Modules[0]: 1 is not a text"),
        ({"Hub": {"Port": 70000}}, "Hub.Port: 70000 is out of bounds: it must be at most 65535"),
        ({"Hub": {"Port": True}}, "Hub.Port: true is not a whole number"),
        ({"Hub": {"Port": 80.5}}, "Hub.Port: 80.5 is not a whole number"),
        ({"Hub": {"Port": {}}}, "Hub.Port: a mapping is not a whole number"),
        ({"Hub": {"Port": "x" * 99}}, f"Hub.Port: '{'x' * 56}... is not a whole number"),
        ({"Hub": {"Host": ""}}, "Hub.Host: is empty"),
        ({"Memory": {"Enabled": "yes"}}, "Memory.Enabled: 'yes' is not true or false"),
        ({"ContextWindow": {"Trigger": 0}}, "ContextWindow.Trigger: 0 is out of bounds: it must be more than 0"),
        ({"ContextWindow": {"Trigger": 1.1}}, "ContextWindow.Trigger: 1.1 is out of bounds: it must be at most 1"),
        ({"ContextWindow": {"Oldest": float("nan")}}, "ContextWindow.Oldest: nan is not a number"),
        ({"ToolFilter": {"Top": 0}}, "ToolFilter.Top: 0 is out of bounds: it must be at least 1"),
        (
            {"Approval": {"AskFrom": "hihg"}},
            "Approval.AskFrom: 'hihg' is none of 'None', 'Low', 'Medium', 'High' or 'Critical'; did you mean High?",
        ),
        (
            {"Budget": {"TimeZone": "Mars"}},
            "Budget.TimeZone: 'Mars' is not a time zone; write it as Europe/Vienna or UTC",
        ),
        (
            {"Tools": {"AllowCidrs": ["10.1.2.3/8"]}},
            "Tools.AllowCidrs[0]: '10.1.2.3/8' is not a network (10.1.2.3/8 has host bits set); "
            'write it as "10.1.0.0/16"',
        ),
        ({"Providers": [{"Type": "openai"}]}, "Providers[0].Id: is required and missing"),
        ({"Providers": [{**PROVIDER, "Prices": {"Input": 1}}]}, "Providers[0].Prices.Output: is required and missing"),
    ],
)
def test_a_mistake_gets_one_line_that_begins_with_its_path(values: dict[str, Any], problem: str):
    with pytest.raises(SettingsError) as caught:
        Settings.from_mapping(values)
    assert caught.value.problems == [problem]


@table(
    ("values", "path"),
    [
        ({"AgentExecution": {"MaxToolIterations": 501}}, "AgentExecution.MaxToolIterations"),
        ({"Providers": [{**PROVIDER, "Factory": "a:b"}]}, "Providers[0].Factory"),
        ({"Providers": [{"Id": "a", "Type": "Python"}]}, "Providers[0].Factory"),
        ({"Providers": [PROVIDER, PROVIDER]}, "Providers[1].Id"),
        ({"Providers": [PROVIDER], "Budget": {"Providers": {"opnai": {}}}}, "Budget.Providers.opnai"),
        ({"Queue": {"Backend": "Redis"}}, "Queue.Url"),
        ({"Queue": {"Url": "redis://localhost"}}, "Queue.Url"),
        ({"Hub": {"Host": "0.0.0.0"}}, "Hub.Host"),
        ({"Hub": {"Host": "example.org"}}, "Hub.Host"),
        ({"Hub": {"Users": [{"Id": "a", "Token": "t"}] * 2}}, "Hub.Users[1].Id"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(values: dict[str, Any], path: str):
    with pytest.raises(SettingsError) as caught:
        Settings.from_mapping(values)
    assert [line.partition(":")[0] for line in caught.value.problems] == [path]


@table("providers", [[], [PROVIDER]])
def test_the_provider_of_the_embeddings_may_have_a_budget_too(providers: list[dict[str, Any]]):
    values = {
        "Providers": providers,
        "Embeddings": {"Provider": "LiteLlm", "Model": "voyage/voyage-3", "Key": "k"},
        "Budget": {"Providers": {"voyage": {"DailyTokens": 1}}},
    }
    settings = Settings.from_mapping(values)
    assert settings.embeddings.provider_id == "voyage"
    assert find_unknown_budgets(settings, []) == []


@table("host", ["localhost", "127.0.0.5", "::1", "[::1]"])
def test_a_host_without_users_listens_on_any_loopback_address(host: str):
    assert Settings.from_mapping({"Hub": {"Host": host}}).hub.host == host


def test_a_channel_that_lacks_something_leaves_the_settings_valid():
    channels = {"Telegram": {"Enabled": True, "Mode": "Webhook", "Token": None}, "WhatsApp": {"Enabled": True}}
    assert Settings.from_mapping(
        {"Channels": channels}
    ).channels.whatsapp.enabled  # the channel itself says what it lacks


@table("values", [[], "text", None, 3])
def test_what_is_no_mapping_is_no_settings(values: Any):
    with pytest.raises(SettingsError, match=r"^Sophon: a mapping"):
        Settings.from_mapping(values)


def test_importing_settings_loads_nothing_heavy():
    program = "import sys, sophon.settings; print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in run.stdout.split()}
    assert not loaded & {"pydantic", "litellm", "sqlalchemy", "aiohttp", "rich", "typer", "openai"}

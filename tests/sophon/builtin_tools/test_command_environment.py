"""Which variables a command receives."""

from typing import Any

from sophon.builtin_tools.command_environment import build_command_environment, find_withheld_variables
from sophon.settings import Settings
from tests.tables import table

SECRET = "canary-0123"


def received(environment: dict[str, str], *listed: str, **sections: Any) -> dict[str, str]:
    settings = Settings.from_mapping({"Tools": {"CommandEnvironment": listed}, **sections})
    return build_command_environment(environment, settings)


@table(
    ("name", "value", "kept"),
    [
        ("PATH", "/bin", True),
        ("HOME", "/root", True),
        ("LANG", "C.UTF-8", True),
        ("LC_ALL", "C.UTF-8", True),
        ("TZ", "UTC", True),
        ("TERM", "xterm", True),
        ("PROXY", "http://proxy:8080/", False),
        ("OPENAI_API_KEY", "x", False),
        ("PGPASSWORD", "x", False),
        ("DATABASE_URL", "postgresql://me:secret@db/x", False),
        ("PIN", "1234", False),
        ("ANYTHING_ELSE", "x", False),
    ],
)
def test_only_the_variables_of_the_list_are_passed_on(name: str, value: str, kept: bool) -> None:
    assert (name in received({name: value})) is kept


def test_settings_can_list_further_variables() -> None:
    assert received({"JAVA_HOME": "/jdk", "OTHER": "x"}, "JAVA_HOME") == {"JAVA_HOME": "/jdk"}


@table(
    ("name", "sections"),
    [
        ("MY_MODEL_PASS", {"Providers": [{"Id": "x", "Type": "openai", "Keys": [{"$env": "MY_MODEL_PASS"}]}]}),
        ("MY_STORE", {"Store": {"Url": {"$env": "MY_STORE"}}}),
        ("OWNER", {"Hub": {"Users": [{"Id": "owner", "Token": {"$env": "OWNER"}}]}}),
        ("BOT", {"Channels": {"Telegram": {"Token": {"$env": "BOT"}}}}),
        ("PATH", {"Channels": {"Telegram": {"Token": {"$env": "PATH"}}}}),
        ("OPENAI_API_KEY", {}),
        ("SOPHON__Hub__Port", {}),
        ("sophon__hub__port", {}),
        ("SOPHON_TOKEN", {}),
    ],
)
def test_a_variable_that_holds_a_secret_of_the_settings_is_withheld_although_listed(
    name: str, sections: dict[str, Any]
) -> None:
    assert received({name: SECRET, "TZ": "UTC"}, name, **sections) == {"TZ": "UTC"}
    settings = Settings.from_mapping({"Tools": {"CommandEnvironment": [name, "TZ"]}, **sections})
    assert find_withheld_variables(settings) == [name]


def test_a_variable_that_repeats_a_secret_is_withheld_too() -> None:
    environment = {"MODEL_PASS": SECRET, "HEADERS": f"x-key: {SECRET}", "JAVA_HOME": "/jdk"}
    providers = [{"Id": "x", "Type": "openai", "Keys": [{"$env": "MODEL_PASS"}]}]
    assert received(environment, "HEADERS", "JAVA_HOME", Providers=providers) == {"JAVA_HOME": "/jdk"}

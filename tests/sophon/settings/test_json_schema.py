"""The JSON Schema of the settings, and what `config redact_settings` prints."""

from collections.abc import Iterator
from typing import Any

import jsonschema

from sophon.settings import Settings, redact_settings, render_settings_table, settings_schema
from tests.tables import table

SCHEMA = settings_schema()


def fields(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """Name, schema and whether it is needed, of every setting."""
    for section in (schema["properties"]["Sophon"], *schema["$defs"].values()):
        for name, field in section.get("properties", {}).items():
            yield name, field, name in section.get("required", ())


def accepts(below: object) -> bool:
    return jsonschema.Draft202012Validator(SCHEMA).is_valid({"Sophon": below, "Logging": {}})


def test_the_schema_is_a_json_schema():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_every_setting_has_a_description_and_a_default():
    for name, field, needed in fields(SCHEMA):
        assert field["description"].endswith("."), name
        assert needed != ("default" in field), name


@table(
    ("below", "fits"),
    [
        ({}, True),
        (redact_settings(Settings()), True),
        ({"Approval": {"Timeout": "1.00:00:00"}}, True),
        ({"Approval": {"Timeout": "24:00:00"}}, False),
        ({"Approval": {"Timeout": 30}}, False),
        ({"Hub": {"Users": [{"Id": "a", "Token": {"$env": "T"}}]}}, True),
        ({"Hub": {"Users": [{"Id": "a", "Token": {"env": "T"}}]}}, False),
        ({"Hub": {"Users": [{"Id": "a"}]}}, False),
        ({"Channels": {"Telegram": {"AllowFrom": [1, "a"]}}}, True),
        ({"Hubb": {}}, False),
        ({"Hub": {"Port": 70000}}, False),
    ],
)
def test_the_schema_accepts_what_the_settings_accept(below: dict[str, Any], fits: bool):
    assert accepts(below) == fits


def test_what_is_shown_can_be_read_again():
    settings = Settings.from_mapping(
        {
            "Providers": [{"Id": "a", "Type": "openai", "Keys": [{"$env": "K"}], "Timeout": "1.00:00:01"}],
            "Tools": {"AllowCidrs": ["10.0.0.0/8"]},
            "Channels": {"WhatsApp": {"PhoneNumberId": 5}},
        }
    )
    assert Settings.from_mapping(redact_settings(settings)) == settings
    assert redact_settings(settings)["Providers"][0]["Timeout"] == "1.00:00:01"


def test_the_table_has_a_row_for_every_setting():
    rows = [line.split("`")[1] for line in render_settings_table().splitlines()[2:]]
    assert len(rows) == len(set(rows))
    assert {"Hub.Users[].Token", "Budget.Providers.*.MonthlyCost", "Providers[].Prices", "Memory.Enabled"} <= set(rows)

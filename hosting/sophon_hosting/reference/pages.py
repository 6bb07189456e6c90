"""Pages of docs/ with generated tables."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from sophon.settings import render_settings_table
from sophon_channels.message_kind_treatments import render_kind_table
from sophon_channels.telegram import message_field_treatments as telegram
from sophon_channels.whatsapp import message_content as whatsapp
from sophon_hosting.dangerous_settings.catalog import render_dangers_table
from sophon_hosting.reference import command_tables, protocol_tables
from sophon_hosting.reference.markdown_tables import replace_table
from sophon_hosting.reference.operation_tables import operation_tables
from sophon_hosting.reference.operation_tools_table import operation_tools_table

TABLES: Final[Mapping[str, Mapping[str, Callable[[], str]]]] = {
    "api.md": {"operations": operation_tables},
    "cli.md": {
        "commands": command_tables.commands_table,
        "global options": command_tables.global_options_table,
        "command sections": command_tables.command_sections,
    },
    "mcp-server.md": {"operations as tools": operation_tools_table},
    "protocol.md": {
        "client events": protocol_tables.client_events_table,
        "events": protocol_tables.host_events_table,
        "error codes": protocol_tables.error_codes_table,
    },
    "settings.md": {"settings": render_settings_table},
    "telegram.md": {
        "messages": partial(render_kind_table, telegram.MESSAGE_KINDS),
        "updates": partial(render_kind_table, telegram.UPDATE_KINDS),
    },
    "trust-model.md": {"dangerous settings": render_dangers_table},
    "whatsapp.md": {"messages": partial(render_kind_table, whatsapp.MESSAGE_KINDS)},
}
"""What renders each table, by page and by the name in its markers."""


def render_page(name: str, page: str) -> str:
    """Return a page with its tables as they must be."""
    for table, render in TABLES[name].items():
        page = replace_table(page, table, render())
    return page

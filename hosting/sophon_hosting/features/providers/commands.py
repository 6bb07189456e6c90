"""`sophon providers`: keys, cool-downs and circuit breaker of a host's providers; reset of one."""

from sophon_hosting.cli.common_options import command_group
from sophon_hosting.cli.operation_commands import list_command, sentence_formatter, show_command
from sophon_hosting.features.providers import operations as providers

app = command_group("List the providers of a host with keys, cool-downs and circuit breakers, and reset one.")

list_command(
    app,
    providers.list_providers,
    {
        "provider": "provider",
        "health": "health",
        "circuit": "circuit",
        "keys#": "keys",
        "cooling#": "keys_cooling",
        "disabled#": "keys_disabled",
        "called again at": lambda row: (row["available_at"] or "")[:19],
        "last error": "last_error",
    },
    "There are no providers.",
)
show_command(
    app, providers.reset_provider, sentence_formatter("{provider} is called again; it is {health}"), name="reset"
)

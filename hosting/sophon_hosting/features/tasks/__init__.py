"""Tasks: messages that were sent, their answers, events and feedback."""

from typing import Final

from sophon_hosting.cli.command import Command

COMMANDS: Final = {
    "tasks": Command("commands", "List, show and cancel tasks.", 120),
    "trace": Command(
        "trace_commands",
        "Show how turns went, with times and cost; replay one with another model or chain.",
        230,
        "[Traces](traces.md), [replay](traces.md#replay) and [OpenTelemetry](traces.md#opentelemetry)",
    ),
}

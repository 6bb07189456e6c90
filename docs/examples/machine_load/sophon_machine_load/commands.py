"""Command `load`: the load of the machine of a running host."""

from sophon_hosting.cli.common_options import command_group
from sophon_hosting.cli.operation_commands import sentence_formatter, show_command
from sophon_machine_load.operations import get_load

app = command_group("Show how busy the machine of a host is.")

show_command(
    app, get_load, sentence_formatter("{now} processes wanted to run, on average of the last minute."), name="show"
)

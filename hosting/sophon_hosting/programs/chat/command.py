"""`sophon chat`: one message, an interactive prompt, or one turn per line of standard input."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Generator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from sophon._python.lazy_dataclass import dataclass
from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import SystemClock
from sophon.errors import InputError
from sophon.tools.tool import Risk
from sophon.turn.option_checks import parse_planning_mode
from sophon_hosting.cli.bootstrap import create_services, load_cli_settings
from sophon_hosting.cli.console.output import create_console
from sophon_hosting.cli.console.stdin_reader import StdinReader
from sophon_hosting.cli.error_reporting import write_error
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.features.mcp.supervisor_factory import create_mcp_supervisor
from sophon_hosting.features.registry import register_feature_tools
from sophon_hosting.programs.chat.approval_prompt import TerminalApprovalGate
from sophon_hosting.programs.chat.banner import new_session_notices, welcome_lines
from sophon_hosting.programs.chat.chat_session import SHORT_ID_CHARACTERS, ChatFrontend, TurnChoices
from sophon_hosting.programs.chat.demonstration import run_demonstration
from sophon_hosting.programs.chat.input_loop import run_piped_lines, run_prompt_loop
from sophon_hosting.programs.chat.local_chat import LocalChat
from sophon_hosting.programs.chat.prompt_output import PromptOutput, StandardErrorOutput
from sophon_hosting.programs.chat.rendering.json_renderer import JsonRenderer
from sophon_hosting.programs.chat.rendering.terminal_renderer import TerminalRenderer
from sophon_hosting.programs.chat.slash_commands import LOCAL_COMMANDS, run_slash_command
from sophon_hosting.programs.chat.termination_signals import handle_termination_signals
from sophon_hosting.programs.process_hardening import protect_process
from sophon_middlewares.tool_calls.call_checks import find_argument_error

if TYPE_CHECKING:
    from sophon_hosting.features.mcp.client.supervisor import McpSupervisor

MCP_WAIT_SECONDS = 15.0
"""Time that the first turn waits for MCP servers to connect."""

MAIN_SESSION = "main"
"""Session that `sophon chat` continues by default."""

MessageArgument = Annotated[
    list[str] | None, typer.Argument(metavar="MESSAGE", help="Without it: a prompt, or lines from stdin.")
]
SessionOption = Annotated[
    str | None, typer.Option(metavar="ID", help=f"Session to continue, or to create; {MAIN_SESSION} by default.")
]
ApproveUpToOption = Annotated[
    str | None,
    typer.Option(metavar="RISK", help="Approve calls without asking up to none, low, medium, high or critical."),
]
ModelOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Use this model: provider/name, a name, or a provider.")
]
PlanningOption = Annotated[str | None, typer.Option(metavar="MODE", help="Auto, LlmDecides, Always or Never.")]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@dataclass(frozen=True, slots=True)
class ChatArguments:
    """Arguments of `sophon chat`; `message` is None if none was given. Defaults are those of the command line."""

    message: str | None = None
    session: str | None = None
    new: bool = False
    json: bool = False
    approve_up_to: str | None = None
    model: str | None = None
    planning: str | None = None
    stream: bool = True
    reasoning: bool = False
    url: str | None = None


@app.command()
def chat(
    ctx: typer.Context,
    message: MessageArgument = None,
    session: SessionOption = None,
    new: Annotated[bool, typer.Option("--new", help="Create a session; the last line shows its id.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object per event and line.")] = False,
    approve_up_to: ApproveUpToOption = None,
    model: ModelOption = None,
    planning: PlanningOption = None,
    stream: Annotated[bool, typer.Option(help="Print the answer while it arrives, or when it is complete.")] = True,
    reasoning: Annotated[
        bool, typer.Option("--reasoning", help="Show the model's reasoning, dimmed, above its replies.")
    ] = False,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Chat with a running host.")] = None,
) -> None:
    """Chat with the agent. Ctrl-C cancels a turn. Answer an approval prompt with approve, reject or edit."""
    text = " ".join(message) if message is not None else None
    options = ChatArguments(text, session, new, as_json, approve_up_to, model, planning, stream, reasoning, url)
    raise typer.Exit(run_chat(ctx.obj, options))


def run_chat(options: GlobalOptions, arguments: ChatArguments | None = None) -> int:
    """Run the command and return its exit code. Raises SophonError for errors before the first turn."""
    arguments = arguments or ChatArguments()
    if arguments.message is not None and not arguments.message.strip():
        raise InputError("the message is empty")
    if arguments.url is not None:
        return _chat_with_host(options, arguments, arguments.url)
    lines = StdinReader()
    view = _create_view(arguments)
    if arguments.message is None and not lines.is_interactive:
        return _chat_over_pipe(options, arguments, lines, view)
    with _open_chat(options, arguments, lines, view) as conversation:
        if arguments.message is not None:
            if isinstance(view, TerminalRenderer):
                view.write_dim_lines(new_session_notices(conversation))
            return conversation.run_turn(arguments.message)
        if isinstance(view, TerminalRenderer):
            view.write_dim_lines(welcome_lines(conversation))
        return run_prompt_loop(
            conversation, lines, _prompt_output(view), partial(run_slash_command, conversation, LOCAL_COMMANDS)
        )


def _chat_with_host(program: GlobalOptions, options: ChatArguments, url: str) -> int:
    """Chat with a host over Socket.IO. The host decides which risk needs approval, so `--approve-up-to` is refused."""
    if options.approve_up_to is not None:
        raise typer.BadParameter("--approve-up-to and --url do not go together: the host decides what needs approval")
    # Lazy: importing the Socket.IO client is slow, and only this function needs it.
    from sophon_hosting.cli.remote.host_selection import default_session_id, find_access_token, validate_host_url
    from sophon_hosting.programs.chat.remote_chat import run_remote_chat

    _validate_planning(options.planning)
    session = _session_id(options, SystemClock())
    token = find_access_token(load_cli_settings(program), validate_host_url(url))
    if options.session is None and not options.new:
        session = default_session_id(url, token, session)
    choices = TurnChoices(session, options.model, options.planning, options.stream)
    lines = StdinReader()
    view = _create_view(options)
    return run_remote_chat(url, token, choices, options.message, lines, view, _prompt_output(view))


def _create_view(options: ChatArguments) -> JsonRenderer | TerminalRenderer:
    if options.json:
        return JsonRenderer(sys.stdout)
    return TerminalRenderer(create_console(), shows_reasoning=options.reasoning)


def _chat_over_pipe(
    program: GlobalOptions, options: ChatArguments, lines: StdinReader, view: JsonRenderer | TerminalRenderer
) -> int:
    """Run one turn per line of input; without any line run the demonstration."""
    first = lines.read_line("")
    blank = first is not None
    while first is not None and not first.strip():
        first = lines.read_line("")
    if first is None and (blank or isinstance(view, JsonRenderer)):
        raise InputError("the message is empty")
    if first is None:
        return run_demonstration(view) if isinstance(view, TerminalRenderer) else 0
    with _open_chat(program, options, lines, view) as conversation:
        if isinstance(view, TerminalRenderer):
            view.write_dim_lines(new_session_notices(conversation))
        return run_piped_lines(
            conversation,
            first,
            lines,
            _prompt_output(view),
            partial(run_slash_command, conversation, LOCAL_COMMANDS),
        )


@contextlib.contextmanager
def _open_chat(
    program: GlobalOptions, options: ChatArguments, lines: StdinReader, view: JsonRenderer | TerminalRenderer
) -> Generator[LocalChat]:
    clock = SystemClock()

    def check_decision(request: ApprovalRequest, decision: Decision) -> str:
        tool = services.registry.get(request.tool)
        error = (
            find_argument_error(tool, decision.arguments) if tool is not None and decision.verdict == "edit" else None
        )
        return f"invalid arguments: {'; '.join(error.problems)}" if error is not None else ""

    gate = TerminalApprovalGate(lines, _prompt_output(view), clock, check_decision)
    settings = load_cli_settings(program, _setting_overrides(options))
    services = create_services(program, settings, events=view, approvals=gate, clock=clock)
    register_feature_tools(services, has_host=False)
    for warning in protect_process(services):
        write_error(warning)
    _validate_planning(options.planning)  # fail before any output
    if options.model is not None:
        services.gateway.find(options.model)
    mcp = create_mcp_supervisor(services, os.environ)
    choices = TurnChoices(_session_id(options, clock), options.model, options.planning, options.stream)
    with handle_termination_signals() as ending, asyncio.Runner() as runner:
        try:
            runner.run(services.open())
            runner.run(services.gateway.warm_up())
            if mcp is not None:
                runner.run(_start_servers(mcp))
            front = ChatFrontend(view, write_error, ending, lambda: gate.ran_out_of_input)
            yield LocalChat(runner, services, choices, front)
        finally:
            if mcp is not None:
                runner.run(mcp.stop())
            runner.run(services.close())


async def _start_servers(mcp: "McpSupervisor") -> None:
    mcp.start()
    await mcp.wait_settled(MCP_WAIT_SECONDS)
    for each in mcp.list_status():
        if each.error:
            write_error(f"MCP server {each.id}: {each.error}")
        if changed := [tool.name for tool in each.tools if tool.state == "changed"]:
            write_error(
                f"MCP server {each.id}: changed, and off until `sophon mcp accept {each.id}`: {', '.join(changed)}"
            )


def _session_id(options: ChatArguments, clock: SystemClock) -> str:
    if options.session is not None and not options.session.strip():
        raise InputError("the session id is empty")
    if options.session is not None and options.new:
        raise typer.BadParameter("--session and --new do not go together: --new creates a new id")
    return clock.new_id()[:SHORT_ID_CHARACTERS] if options.new else options.session or MAIN_SESSION


def _validate_planning(mode: str | None) -> None:
    try:
        parse_planning_mode(mode)
    except InputError as error:
        raise typer.BadParameter(f"--planning: {error}") from None


def _setting_overrides(options: ChatArguments) -> Sequence[str]:
    if options.approve_up_to is None:
        return ()
    try:
        risk = Risk.parse(options.approve_up_to)
    except ValueError as error:
        raise typer.BadParameter(f"--approve-up-to: {error}") from None
    return (f"Approval.AutoApproveUpTo={risk.label}",)


def _prompt_output(view: JsonRenderer | TerminalRenderer) -> PromptOutput:
    return view if isinstance(view, TerminalRenderer) else StandardErrorOutput()

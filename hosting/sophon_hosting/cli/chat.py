"""`sophon chat`: one message, an interactive prompt, or one turn per line of standard input."""

import asyncio
import contextlib
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

import typer

from sophon.approvals import ApprovalRequest, Decision
from sophon.clock import SystemClock
from sophon.errors import InputError
from sophon.services import planning_mode
from sophon.tools.tool import Risk
from sophon_hosting.cli.arguments import GlobalOptions
from sophon_hosting.cli.asking import Desk, TerminalGate
from sophon_hosting.cli.commands import carry_out
from sophon_hosting.cli.conversation import Choices, Conversation, Front
from sophon_hosting.cli.demonstration import demonstrate
from sophon_hosting.cli.errors import tell
from sophon_hosting.cli.interruption import gentle_end
from sophon_hosting.cli.json_view import JsonView, StandardError
from sophon_hosting.cli.lines import Lines
from sophon_hosting.cli.prompting import answer_lines, converse, offline_note, welcome
from sophon_hosting.cli.screen import console
from sophon_hosting.cli.start import services_of, settings_of
from sophon_hosting.cli.terminal import TerminalView
from sophon_middlewares.inner.admission import misfit

MAIN_SESSION = "main"
"""Session that `sophon chat` continues by default."""

Words = Annotated[
    list[str] | None, typer.Argument(metavar="MESSAGE", help="Without it: a prompt, or lines from stdin.")
]
SessionId = Annotated[str | None, typer.Option(metavar="ID", help=f"Session to continue; {MAIN_SESSION} by default.")]
RiskName = Annotated[str | None, typer.Option(metavar="RISK", help="Approve up to none, low, medium, high, critical.")]
ModelName = Annotated[str | None, typer.Option(metavar="NAME", help="Use this model: its name, or provider/name.")]
PlanningMode = Annotated[str | None, typer.Option(metavar="MODE", help="Auto, LlmDecides, Always or Never.")]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """Arguments of `sophon chat`; `message` is None if none was given. Defaults are those of the command line."""

    message: str | None = None
    session: str | None = None
    new: bool = False
    json: bool = False
    approve_up_to: str | None = None
    model: str | None = None
    planning: str | None = None
    stream: bool = True
    url: str | None = None


@app.command()
def chat(
    ctx: typer.Context,
    message: Words = None,
    session: SessionId = None,
    new: Annotated[bool, typer.Option("--new", help="Start a new session.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object per event and line.")] = False,
    approve_up_to: RiskName = None,
    model: ModelName = None,
    planning: PlanningMode = None,
    stream: Annotated[bool, typer.Option(help="Stream the answer.")] = True,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Chat with a running host.")] = None,
) -> None:
    """Chat with the agent. Ctrl-C cancels a turn. Answer an approval prompt with approve, reject or edit."""
    text = " ".join(message) if message is not None else None
    options = ChatOptions(text, session, new, as_json, approve_up_to, model, planning, stream, url)
    raise typer.Exit(start(ctx.obj, options))


def start(program: GlobalOptions, options: ChatOptions | None = None) -> int:
    """Run the command and return its exit code. Raises SophonError for errors before the first turn."""
    options = options or ChatOptions()
    if options.message is not None and not options.message.strip():
        raise InputError("the message is empty")
    if options.url is not None:
        return _chat_with_host(program, options, options.url)
    lines = Lines()
    view = JsonView(sys.stdout) if options.json else TerminalView(console())
    if options.message is None and not lines.interactive:
        return _chat_over_pipe(program, options, lines, view)
    with _open_chat(program, options, lines, view) as conversation:
        if options.message is not None:
            if isinstance(view, TerminalView):
                view.quiets(offline_note(conversation))
            return conversation.say(options.message)
        if isinstance(view, TerminalView):
            view.quiets(welcome(conversation))
        return converse(conversation, lines, _prompt_output(view), partial(carry_out, conversation))


def _chat_with_host(program: GlobalOptions, options: ChatOptions, url: str) -> int:
    """Chat with a host over Socket.IO. The host decides which risk needs approval, so `--approve-up-to` is refused."""
    if options.approve_up_to is not None:
        raise typer.BadParameter("--approve-up-to and --url do not go together: the host decides what needs approval")
    # Lazy: importing the Socket.IO client is slow, and only this function needs it.
    from sophon_hosting.cli.remote.chat import talk
    from sophon_hosting.cli.remote.reach import token_of, usual_session

    _validate_planning(options.planning)
    session = _session_id(options, SystemClock())
    if options.session is None and not options.new:
        session = usual_session(url, token_of(settings_of(program)), session)
    choices = Choices(session, options.model, options.planning, options.stream)
    lines = Lines()
    view = JsonView(sys.stdout) if options.json else TerminalView(console())
    return talk(program, url, choices, options.message, lines, view, _prompt_output(view))


def _chat_over_pipe(program: GlobalOptions, options: ChatOptions, lines: Lines, view: JsonView | TerminalView) -> int:
    """Run one turn per line of input; without any line run the demonstration."""
    first = lines.prompt("")
    blank = first is not None
    while first is not None and not first.strip():
        first = lines.prompt("")
    if first is None and (blank or isinstance(view, JsonView)):
        raise InputError("the message is empty")
    if first is None:
        return demonstrate(view) if isinstance(view, TerminalView) else 0
    with _open_chat(program, options, lines, view) as conversation:
        if isinstance(view, TerminalView):
            view.quiets(offline_note(conversation))
        return answer_lines(
            conversation, first, lambda: lines.prompt(""), _prompt_output(view), partial(carry_out, conversation)
        )


@contextlib.contextmanager
def _open_chat(
    program: GlobalOptions, options: ChatOptions, lines: Lines, view: JsonView | TerminalView
) -> Generator[Conversation]:
    clock = SystemClock()

    def check_decision(request: ApprovalRequest, decision: Decision) -> str:
        tool = services.registry.get(request.tool)
        error = misfit(tool, decision.arguments) if tool is not None and decision.verdict == "edit" else None
        return f"invalid arguments: {'; '.join(error.problems)}" if error is not None else ""

    gate = TerminalGate(lines, _prompt_output(view), clock, check_decision)
    settings = settings_of(program, _setting_overrides(options))
    services = services_of(program, settings, events=view, approvals=gate, clock=clock)
    _validate_planning(options.planning)  # fail before any output
    if options.model is not None:
        services.gateway.find(options.model)
    choices = Choices(_session_id(options, clock), options.model, options.planning, options.stream)
    with gentle_end() as ending, asyncio.Runner() as runner:
        try:
            runner.run(services.open())
            runner.run(services.gateway.warm_up())
            yield Conversation(runner, services, choices, Front(view, tell, ending))
        finally:
            runner.run(services.close())


def _session_id(options: ChatOptions, clock: SystemClock) -> str:
    if options.session is not None and not options.session.strip():
        raise InputError("the session id is empty")
    if options.session is not None and options.new:
        raise typer.BadParameter("--session and --new do not go together: --new creates a new id")
    return clock.new_id()[:12] if options.new else options.session or MAIN_SESSION


def _validate_planning(mode: str | None) -> None:
    try:
        planning_mode(mode)
    except InputError as error:
        raise typer.BadParameter(f"--planning: {error}") from None


def _setting_overrides(options: ChatOptions) -> Sequence[str]:
    if options.approve_up_to is None:
        return ()
    try:
        risk = Risk.parse(options.approve_up_to)
    except ValueError as error:
        raise typer.BadParameter(f"--approve-up-to: {error}") from None
    return (f"Approval.AutoApproveUpTo={risk.label}",)


def _prompt_output(view: JsonView | TerminalView) -> Desk:
    return view if isinstance(view, TerminalView) else StandardError()

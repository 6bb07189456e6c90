"""`sophon chat`: one message, a conversation at the prompt, or a line of standard input after the other."""

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
"""The session that `sophon chat` goes on with unless told otherwise."""

Words = Annotated[list[str] | None, typer.Argument(metavar="MESSAGE", help="Without it: a prompt, or lines.")]
SessionId = Annotated[str | None, typer.Option(metavar="ID", help=f"Go on with it; {MAIN_SESSION} by default.")]
RiskName = Annotated[str | None, typer.Option(metavar="RISK", help="Approve up to none, low, medium, high, critical.")]
ModelName = Annotated[str | None, typer.Option(metavar="NAME", help="Ask this model: its name, or provider/name.")]
PlanningMode = Annotated[str | None, typer.Option(metavar="MODE", help="Auto, LlmDecides, Always or Never.")]

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """What was said behind `sophon chat`; `message` is None if nothing was."""

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
    new: Annotated[bool, typer.Option("--new", help="Begin a new session.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per event and line.")] = False,
    approve_up_to: RiskName = None,
    model: ModelName = None,
    planning: PlanningMode = None,
    stream: Annotated[bool, typer.Option(help="Show the text as it comes.")] = True,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Talk with a running host.")] = None,
) -> None:
    """Talk with the agent. Ctrl-C stops a turn; a question is answered by the next line: approve, reject or edit."""
    text = " ".join(message) if message is not None else None
    options = ChatOptions(text, session, new, as_json, approve_up_to, model, planning, stream, url)
    raise typer.Exit(start(ctx.obj, options))


def start(program: GlobalOptions, options: ChatOptions | None = None) -> int:
    """The whole command; its exit code. Raises SophonError for what is wrong before the first turn."""
    options = options or ChatOptions()
    if options.message is not None and not options.message.strip():
        raise InputError("the message is empty: write something")
    if options.url is not None:
        return _with_host(program, options, options.url)
    lines = Lines()
    view = JsonView(sys.stdout) if options.json else TerminalView(console())
    if options.message is None and not lines.interactive:
        return _over_a_pipe(program, options, lines, view)
    with _opened(program, options, lines, view) as conversation:
        if options.message is not None:
            if isinstance(view, TerminalView):
                view.quiets(offline_note(conversation))
            return conversation.say(options.message)
        if isinstance(view, TerminalView):
            view.quiets(welcome(conversation))
        return converse(conversation, lines, _desk(view), partial(carry_out, conversation))


def _with_host(program: GlobalOptions, options: ChatOptions, url: str) -> int:
    """The same over Socket.IO; what is approved up to which risk is the host's own business."""
    if options.approve_up_to is not None:
        raise typer.BadParameter("--approve-up-to and --url do not go together: the host asks, and you answer")
    # Lazy: the client of Socket.IO is heavy, and only this needs it.
    from sophon_hosting.cli.remote.chat import talk
    from sophon_hosting.cli.remote.reach import token_of, usual_session

    _check_planning(options.planning)
    session = _session(options, SystemClock())
    if options.session is None and not options.new:
        session = usual_session(url, token_of(settings_of(program)), session)
    choices = Choices(session, options.model, options.planning, options.stream)
    lines = Lines()
    view = JsonView(sys.stdout) if options.json else TerminalView(console())
    return talk(program, url, choices, options.message, lines, view, _desk(view))


def _over_a_pipe(program: GlobalOptions, options: ChatOptions, lines: Lines, view: JsonView | TerminalView) -> int:
    """A turn per line; without any line the demonstration."""
    first = lines.prompt("")
    blank = first is not None
    while first is not None and not first.strip():
        first = lines.prompt("")
    if first is None and (blank or isinstance(view, JsonView)):
        raise InputError("the message is empty: write something")
    if first is None:
        return demonstrate(view) if isinstance(view, TerminalView) else 0
    with _opened(program, options, lines, view) as conversation:
        if isinstance(view, TerminalView):
            view.quiets(offline_note(conversation))
        return answer_lines(
            conversation, first, lambda: lines.prompt(""), _desk(view), partial(carry_out, conversation)
        )


@contextlib.contextmanager
def _opened(
    program: GlobalOptions, options: ChatOptions, lines: Lines, view: JsonView | TerminalView
) -> Generator[Conversation]:
    clock = SystemClock()

    def wrong(request: ApprovalRequest, decision: Decision) -> str:
        tool = services.registry.get(request.tool)
        misfitting = misfit(tool, decision.arguments) if tool is not None and decision.verdict == "edit" else None
        return f"these arguments do not fit: {'; '.join(misfitting.problems)}" if misfitting is not None else ""

    gate = TerminalGate(lines, _desk(view), clock, wrong)
    settings = settings_of(program, _pairs(options))
    services = services_of(program, settings, events=view, approvals=gate, clock=clock)
    _check_planning(options.planning)  # mistakes are told before anything is shown
    if options.model is not None:
        services.gateway.find(options.model)
    choices = Choices(_session(options, clock), options.model, options.planning, options.stream)
    with gentle_end() as ending, asyncio.Runner() as runner:
        try:
            runner.run(services.open())
            runner.run(services.gateway.warm_up())
            yield Conversation(runner, services, choices, Front(view, tell, ending))
        finally:
            runner.run(services.close())


def _session(options: ChatOptions, clock: SystemClock) -> str:
    if options.session is not None and not options.session.strip():
        raise InputError("the id of the session is empty")
    if options.session is not None and options.new:
        raise typer.BadParameter("--session and --new do not go together: --new makes an id of its own")
    return clock.new_id()[:12] if options.new else options.session or MAIN_SESSION


def _check_planning(mode: str | None) -> None:
    try:
        planning_mode(mode)
    except InputError as error:
        raise typer.BadParameter(f"--planning: {error}") from None


def _pairs(options: ChatOptions) -> Sequence[str]:
    if options.approve_up_to is None:
        return ()
    try:
        risk = Risk.parse(options.approve_up_to)
    except ValueError as error:
        raise typer.BadParameter(f"--approve-up-to: {error}") from None
    return (f"Approval.AutoApproveUpTo={risk.label}",)


def _desk(view: JsonView | TerminalView) -> Desk:
    return view if isinstance(view, TerminalView) else StandardError()

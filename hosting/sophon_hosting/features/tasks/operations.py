"""Operations on tasks: list, show, follow, cancel, and judge their answers."""

from typing import Annotated, Literal

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError, NotFound
from sophon.learning.feedback import MAX_CORRECTION_CHARACTERS
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.rights import CALL_SCOPE
from sophon_hosting.features.agents.operations import show_sub_agent
from sophon_hosting.features.sessions.history_results import logged_event_to_json
from sophon_hosting.features.sessions.visible_history import to_visible_events
from sophon_hosting.features.tasks.results import (
    CancelledTask,
    FeedbackReceipt,
    FeedbackView,
    StreamedText,
    TaskDetails,
    TaskEvents,
    TaskPage,
    TaskSlice,
    listed_task_to_json,
    task_summary_to_json,
    task_to_json,
)
from sophon_hosting.operations.request import Doc, Everything, Limit, Request
from sophon_hosting.operations.shared_results import take_listed
from sophon_hosting.operations.shared_subjects import SESSION, TASK
from sophon_hosting.operations.table import Table
from sophon_hosting.runs.run_kinds import is_direct_call
from sophon_hosting.store.events.logged_event import LoggedEvent, merge_traces
from sophon_hosting.store.runs.contract import Run, RunStatus

table = Table("tasks")

EVENTS_PER_READ = 1000
"""Events per query to the store."""

Position = Annotated[int, ValueRules(ge=0)]


class ListTasks(Request):
    """A page of tasks: those of a session, with a status, before a task."""

    session_id: Annotated[str | None, Doc("Only tasks of this session.")] = None
    status: Annotated[RunStatus | None, Doc("Only tasks with this status.")] = None
    limit: Annotated[Limit, Doc("At most N tasks.")] = 100
    before: Annotated[str | None, Doc("Only tasks before this one.")] = None
    everything: Everything = False


class ListTaskSummaries(Request):
    """With `before`, the tasks before that one."""

    limit: Limit = 100
    before: str | None = None


class NamedTask(Request):
    """A task by its id."""

    task_id: Annotated[str, Doc("The id of a task; `sophon tasks list` shows them.")]


class NewFeedback(NamedTask):
    """`value` is -1 (bad) to 1 (good), `text` a correction; 0 without a text takes it back."""

    value: Annotated[float, ValueRules(ge=-1, le=1), Doc("-1 (bad) to 1 (good).")]
    text: Annotated[str | None, ValueRules(max_length=MAX_CORRECTION_CHARACTERS), Doc("A correction.")] = None
    source: Literal["api", "page"] = "api"


class StreamPart(NamedTask):
    """Part of a streamed text: its epoch, and the positions between which it is returned, in characters."""

    epoch: Position
    start: Position = 0
    end: Position | None = None


@table.operation("GET /api/tasks", needs="Read", errors=(NotFound,), as_tool=True)
async def list_tasks(caller: Caller, request: ListTasks) -> TaskPage:
    """List a page of tasks, newest first.

    `more` says that there are more: `before`, with the id of the last task of a page, gives the next one. `answer` has
    the first 4,000 characters, and `answer_is_cut` says whether there are more, which the task itself has.
    """
    runs = await _list(
        caller,
        caller.owner_filter(request.everything),
        request.limit,
        request.before,
        session_id=request.session_id,
        status=request.status,
    )
    items = [listed_task_to_json(each) for each in runs[: request.limit]]
    return {"items": items, "more": len(runs) > len(items)}


@table.operation(needs="Read", event="list_tasks", is_large=True, errors=(NotFound,))
async def list_task_summaries(caller: Caller, request: ListTaskSummaries) -> TaskSlice:
    """List a page of tasks without their texts, newest first; an operator's those of all users."""
    runs = await _list(caller, caller.owner, request.limit, request.before)
    items = [task_summary_to_json(run) for run in runs[: request.limit]]
    shown, is_all = take_listed(items, len(runs))
    return {"items": shown} if is_all else {"items": shown, "more": True}


@table.operation("GET /api/tasks/{task_id}", needs="Read", on=TASK, as_tool=True)
async def get_task(caller: Caller, request: NamedTask, run: Run) -> TaskDetails:
    """Return one task, with its answer or error, and its sub-agents in `children`.

    `origin` is the goal and the step whose run it is, also in lists, and null for any other task. `position` is the
    number of waiting tasks that run before it if nothing changes, null once it has started.
    """
    children = [show_sub_agent(caller, each) for each in await caller.store.sub_agents.list_for_task(run.id)]
    position = await caller.find_position(run.id)
    return {**task_to_json(show_run(caller, run)), "position": position, "children": children}


def _needed_to_cancel(run: Run) -> str:
    return CALL_SCOPE if is_direct_call(run) else "Chat"


@table.operation(
    "POST /api/tasks/{task_id}/cancel",
    needs="Read",
    on=TASK,
    needs_for=_needed_to_cancel,
    ok=True,
    event="cancel_task",
    as_tool=True,
)
async def cancel_task(caller: Caller, request: NamedTask, run: Run) -> CancelledTask:
    """Cancel a task; a finished one does not change.

    `status` is `cancelling` if it takes longer than a second. Who cancels a tool call outside of a turn needs the scope
    of such calls, for any other task that of messages.
    """
    run = await caller.cancel_task(run.id)
    return {"task_id": run.id, "status": run.status if run.is_finished else "cancelling"}


@table.operation(
    "POST /api/tasks/{task_id}/feedback",
    needs="Chat",
    on=TASK,
    ok=True,
    event="send_feedback",
    errors=(InputError,),
    example={"value": -1, "text": "The invoice is from May."},
)
async def send_feedback(caller: Caller, request: NewFeedback, run: Run) -> FeedbackReceipt:
    """Record what the user thinks of the answer of a task; a repetition changes nothing."""
    await caller.host.feedback.record(
        run, caller.user.id, request.value, text=request.text or "", source=request.source
    )
    return {"task_id": run.id, "value": request.value}


@table.operation("GET /api/tasks/{task_id}/feedback", needs="Read", on=TASK)
async def get_feedback(caller: Caller, request: NamedTask, run: Run) -> FeedbackView:
    """Return what the user said about the answer of a task; `value` is null if nothing."""
    given = await caller.store.trajectories.list_feedback(run.id)
    found = next((each for each in given if each.principal == caller.user.id), None)
    value, text = (None, "") if found is None else (found.value, found.text)
    return {"task_id": run.id, "value": value, "text": text}


@table.operation("GET /api/tasks/{task_id}/events", needs="Read", on=TASK, errors=(NotFound,))
async def list_task_events(caller: Caller, request: NamedTask, run: Run) -> TaskEvents:
    """Return the stored events of a task and its traces, in order."""
    session_id = caller.sessions.to_client_id(run.session_id)
    session = await caller.sessions.find(session_id)
    found: list[LoggedEvent] = []
    after = 0
    while rows := await caller.store.events.list_after(session.id, after, EVENTS_PER_READ):
        found += [row for row in rows if row.task_id == run.id]
        after = rows[-1].seq
    found = merge_traces(found, await caller.store.events.list_traces(session.id, run.id))
    return {"items": [logged_event_to_json(session_id, row) for row in to_visible_events(caller, session, found)]}


@table.operation("GET /api/tasks/{task_id}/stream", needs="Read", on=TASK, example={"epoch": 0})
async def get_streamed_text(caller: Caller, request: StreamPart, run: Run) -> StreamedText:
    """Return a part of the text that is being streamed; null once the task or that epoch of its reply has ended.

    Of a task that runs on another host, the text up to `end` is waited for.
    """
    hidden = caller.view is not None and (caller.view.hides_streams or run.owner != caller.user.id)
    if hidden or run.is_finished:
        return {"text": None}
    text = await caller.host.event_bus.fetch_streamed_text(run.session_id, run.id, request.epoch, request.end or 0)
    return {"text": None if text is None else text[request.start : request.end]}


async def _list(
    caller: Caller,
    owner: str | None,
    limit: int,
    before: str | None,
    *,
    session_id: str | None = None,
    status: RunStatus | None = None,
) -> list[Run]:
    """Return a page of tasks and one more, if there is one; of large answers they have the beginning."""
    if session_id is not None and (chosen := await SESSION.on_its_host(caller, session_id)) is not caller:
        caller, owner = chosen, chosen.user.id
    if before is not None:
        await TASK.locate(caller, before)  # nobody learns from it whether another user's task exists
    runs = await caller.store.runs.list(
        session_id=await caller.sessions.filter_id(session_id),
        owner=owner,
        status=status,
        limit=limit + 1,
        whole=False,
        before=before,
    )
    return [show_run(caller, run) for run in runs]


def show_run(caller: Caller, run: Run) -> Run:
    """Return a run as the client sees it: redacted, with the session id that the user knows."""
    shown = run if caller.view is None else caller.view.run(run, is_own=run.owner == caller.user.id)
    return caller.sessions.to_client_run(shown)

"""Operations on replays: another model or chain answers a turn of the user, and nothing changes but the usage."""

from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from typing import Annotated, Final, cast

from sophon._python.value_rules import ValueRules
from sophon.errors import InputError, NotFound, SophonError
from sophon.turn.history_redaction import redact_text_for_reader
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.features.traces.operations import NamedTrace
from sophon_hosting.features.traces.replay.comparison import compare
from sophon_hosting.features.traces.replay.recorded_turn import find_turn_owner, load_recorded_turn
from sophon_hosting.features.traces.replay.turn_replay import (
    MAX_REPLAY_SECONDS,
    ReplayRequest,
    check_replay_request,
    replay_turn,
)
from sophon_hosting.features.traces.results import ReplayChoices, ReplayComparison
from sophon_hosting.features.traces.visible_trace import to_client_trace
from sophon_hosting.operations.request import Doc, Needs, NoFields
from sophon_hosting.operations.table import Table
from sophon_hosting.queue.errors import TooManyMessages, TryLater
from sophon_hosting.runs.message_rate import MessageRateLimiter
from sophon_middlewares.chains import CHAINS

table = Table("traces")

MAX_REPLAYS: Final = 4
"""Replays at the same time, of all users together; each user has one."""

RETRY_SECONDS: Final = 5


class ReplayBusy(TryLater):
    """Error: a replay of the user runs already, or too many of others (code `replay_busy`)."""

    code = "replay_busy"

    def __init__(self, reason: str) -> None:
        self.retry_after_seconds = RETRY_SECONDS
        SophonError.__init__(self, reason)


class TurnToReplay(NamedTrace):
    """A turn of the user, and what answers it now."""

    chain: Annotated[
        Annotated[str, ValueRules(min_length=1, max_length=100)] | None,
        Needs("Operator"),
        Doc("A chain by its name; by default the configured one."),
    ] = None
    model: Annotated[
        Annotated[str, ValueRules(min_length=1, max_length=300)] | None,
        Needs("ChooseModel"),
        Doc("`provider/model`, a model, or a provider."),
    ] = None


@table.operation("GET /api/replay-choices", needs="Chat")
async def list_replay_choices(caller: Caller, request: NoFields) -> ReplayChoices:
    """Return the models that a replay of the user may ask, and the chains, which are for operators."""
    providers = caller.host.services.gateway.providers if caller.rights.allows("ChooseModel") else ()
    models = [info.id for each in providers if each.active for info in each.model_infos()]
    return {"models": models, "chains": sorted(CHAINS) if caller.user.operator else []}


@table.operation(
    "POST /api/traces/{task_id}/replay",
    needs="Chat",
    errors=(NotFound, InputError, TooManyMessages, ReplayBusy),
    example={"model": "large"},
    seconds=MAX_REPLAY_SECONDS + 60,
)
async def replay_own_turn(caller: Caller, request: TurnToReplay) -> ReplayComparison:
    """Replay one of the user's own turns, and return both side by side; operators have their own, too.

    The model calls are charged, it counts as a message of the user, and nothing else changes.
    """
    services, may_choose = caller.host.services, caller.rights.allows("ChooseModel")
    # What the message named then, its sender may not be allowed to name now.
    chosen = ReplayRequest(request.chain, request.model, keeps_model=may_choose)
    check_replay_request(services, chosen)
    await _check_own(caller, request.task_id)
    turn = await load_recorded_turn(caller.store, request.task_id)
    with _running(caller):
        await _count_message(caller)
        replayed = await replay_turn(services, turn, chosen)
    found = compare(turn, replayed, partial(to_client_trace, caller))
    if caller.view is not None:
        found["message"] = redact_text_for_reader(found["message"], is_own=True)
        for side in (found["original"], found["replay"]):
            side["answer"] = redact_text_for_reader(side["answer"], is_own=True)
    return cast(ReplayComparison, found)


async def _check_own(caller: Caller, task_id: str) -> None:
    """Raise NotFound for a turn of somebody else, also for operators: its history is not theirs to send on."""
    user, found = caller.user, await find_turn_owner(caller.store, task_id)
    if found is None or found[0] != user.id:
        raise NotFound("turn", task_id)
    session = await caller.store.sessions.find(found[1])
    if session is not None and session.owner != user.id:  # of a group, whose other members wrote in it
        raise NotFound("turn", task_id)


async def _count_message(caller: Caller) -> None:
    with await MessageRateLimiter(caller.host.services).reserve(caller.user.id, HUB_CHANNEL) as counted:
        counted.use(caller.monotonic())


@contextmanager
def _running(caller: Caller) -> Generator[None]:
    running, user = caller.host.replaying, caller.user.id
    if user in running:
        raise ReplayBusy("a replay of yours runs already; wait for its end")
    if len(running) >= MAX_REPLAYS:
        raise ReplayBusy("too many replays run; try again")
    running.add(user)
    try:
        yield
    finally:
        running.discard(user)

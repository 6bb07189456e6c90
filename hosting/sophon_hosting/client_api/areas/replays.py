"""Replays of a user's own turns: another model or chain answers, and nothing changes but the usage."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

from sophon.errors import NotFound, SophonError
from sophon.history_redaction import redact_text_for_reader
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.rights import HUB_CHANNEL
from sophon_hosting.client_api.visible_trace import to_client_trace
from sophon_hosting.queue.errors import TryLater
from sophon_hosting.replay.comparison import compare
from sophon_hosting.replay.recorded_turn import find_turn_owner, load_recorded_turn
from sophon_hosting.replay.turn_replay import ReplayRequest, check_replay_request, replay_turn
from sophon_hosting.runs.message_rate import MessageRateLimiter
from sophon_middlewares.chains import CHAINS

MAX_REPLAYS: Final = 4
"""Replays at the same time, of all users together; each user has one."""

RETRY_SECONDS: Final = 5


class ReplayBusy(TryLater):
    """Error: a replay of the user runs already, or too many of others (code `replay_busy`)."""

    code = "replay_busy"

    def __init__(self, reason: str) -> None:
        self.retry_after_seconds = RETRY_SECONDS
        SophonError.__init__(self, reason)


class TurnReplays:
    """The replays of one user, each operation with its permission check."""

    def __init__(self, access: Caller) -> None:
        self._access = access

    def list_choices(self) -> dict[str, list[str]]:
        """Return the models that a replay of the user may ask, and the chains, which are for operators."""
        self._access.rights.require("Chat")
        may_choose = self._access.rights.allows("ChooseModel")
        providers = self._access.host.services.gateway.providers if may_choose else ()
        models = [info.id for each in providers if each.active for info in each.model_infos()]
        return {"models": models, "chains": sorted(CHAINS) if self._access.user.operator else []}

    async def run(self, task_id: str, request: ReplayRequest) -> Mapping[str, Any]:
        """Replay one of the user's own turns and return both side by side. It counts as a message of the user.

        Raises NotFound, InputError, Forbidden for a chain that is not chosen by an operator, LevelNeeded or ScopeNeeded
        for a model, TooManyMessages, ReplayBusy.
        """
        access, host = self._access, self._access.host
        access.rights.require("Chat")
        if request.model is not None:
            access.rights.require("ChooseModel")
        if request.chain is not None:
            access.require_operator()
        check_replay_request(host.services, request)
        # What the message named then, its sender may not be allowed to name now.
        request = replace(request, keeps_model=access.rights.allows("ChooseModel"))
        await self._check_own(task_id)
        turn = await load_recorded_turn(access.store, task_id)
        with self._running():
            await self._count_message()
            replayed = await replay_turn(host.services, turn, request)
        found = compare(turn, replayed, partial(to_client_trace, access))
        if access.view is not None:
            found["message"] = redact_text_for_reader(found["message"], is_own=True)
            for side in (found["original"], found["replay"]):
                side["answer"] = redact_text_for_reader(side["answer"], is_own=True)
        return found

    async def _check_own(self, task_id: str) -> None:
        """Raise NotFound for a turn of somebody else, also for operators: its history is not theirs to send on."""
        user, found = self._access.user, await find_turn_owner(self._access.store, task_id)
        if found is None or found[0] != user.id:
            raise NotFound("turn", task_id)
        session = await self._access.store.sessions.find(found[1])
        if session is not None and session.owner != user.id:  # of a group, whose other members wrote in it
            raise NotFound("turn", task_id)

    async def _count_message(self) -> None:
        services = self._access.host.services
        with await MessageRateLimiter(services).reserve(self._access.user.id, HUB_CHANNEL) as counted:
            counted.use(services.clock.monotonic())

    @contextmanager
    def _running(self) -> Generator[None]:
        running, user = self._access.host.replaying, self._access.user.id
        if user in running:
            raise ReplayBusy("a replay of yours runs already; wait for its end")
        if len(running) >= MAX_REPLAYS:
            raise ReplayBusy("too many replays run; try again")
        running.add(user)
        try:
            yield
        finally:
            running.discard(user)

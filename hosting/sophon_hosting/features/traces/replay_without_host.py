"""Replay of a stored turn in the process of a command, where no host runs."""

import asyncio
from typing import cast

from sophon.errors import NotFound
from sophon.principals import LOCAL_USER
from sophon.settings import Settings
from sophon_hosting.cli.bootstrap import create_services
from sophon_hosting.cli.global_options import GlobalOptions
from sophon_hosting.client_api.authentication.token_authentication import find_operators
from sophon_hosting.features.registry import register_feature_tools
from sophon_hosting.features.traces.replay.comparison import compare
from sophon_hosting.features.traces.replay.recorded_turn import find_turn_owner, load_recorded_turn
from sophon_hosting.features.traces.replay.turn_replay import ReplayRequest, replay_turn
from sophon_hosting.features.traces.results import ReplayComparison
from sophon_hosting.settings.hub import HubSettings
from sophon_hosting.store.contract import host_store


def replay_stored_turn(
    options: GlobalOptions, settings: Settings, task_id: str, *, chain: str | None, model: str | None
) -> ReplayComparison:
    """Replay a turn of the local user or an operator of the settings. Raises SophonError.

    A turn of anybody else is refused, although its texts are in the store: a replay is charged to whose turn it is.
    """

    async def run() -> ReplayComparison:
        services = create_services(options, settings)
        register_feature_tools(services, has_host=False)
        async with services:
            found = await find_turn_owner(host_store(services), task_id)
            if found is None or found[0] not in find_operators(settings.section(HubSettings)) | {LOCAL_USER}:
                raise NotFound("turn", task_id)
            turn = await load_recorded_turn(host_store(services), task_id)
            await services.gateway.warm_up()
            return cast(ReplayComparison, compare(turn, await replay_turn(services, turn, ReplayRequest(chain, model))))

    return asyncio.run(run())

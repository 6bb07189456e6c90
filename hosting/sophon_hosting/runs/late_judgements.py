"""Judgements that come after a turn, of people or of a model: what they teach routing."""

import logging

from sophon.errors import SophonError
from sophon.failure_log import log_failure
from sophon.learning.contract import Vector
from sophon.learning.trajectories import Trajectory
from sophon.models.model import metering
from sophon.services import Services
from sophon_hosting.store.contract import host_store
from sophon_middlewares.learning.learning import learn_route, observe_quality
from sophon_middlewares.outer.budget.embedding_meter import EmbeddingMeter

log = logging.getLogger("sophon")


async def learn_later(
    services: Services, trajectory: Trajectory, *, quality: float | None = None, said: float | None = None
) -> None:
    """Move the averages by a judgement of 0 to 1, and keep or forget the route of the answer by its new quality.

    What cannot be learnt is logged: the judgement itself is stored already.
    """
    try:
        if quality is not None or said is not None:
            await observe_quality(services, trajectory, quality=quality, said=said)
        vector = await _embed_message(services, trajectory)
        if vector is not None:
            await learn_route(services, trajectory, vector)
    except SophonError as error:
        log_failure(log, error, "the judgement of run %s changed no route", trajectory.run_id)


async def _embed_message(services: Services, trajectory: Trajectory) -> Vector | None:
    """Return the vector of the message; None where no route could be kept."""
    embedder = services.learning.embedder
    if services.learning.policies is None or embedder is None or not trajectory.tier:
        return None
    run = await host_store(services).runs.find(trajectory.run_id)
    if run is None:
        return None
    meter = EmbeddingMeter(
        host_store(services).usage, services.settings.budget, services.clock, session_id=run.session_id, run_id=run.id
    )
    with metering(meter):
        (vector,) = await embedder.embed([run.text])
    return vector

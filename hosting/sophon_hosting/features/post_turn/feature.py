"""Feature declaration: the jobs after a turn: their runner."""

from typing import TYPE_CHECKING, Final

from sophon_hosting.features.feature import Feature, FeatureService, HostProcess, Phase

if TYPE_CHECKING:
    from sophon_hosting.features.post_turn.runner import PostTurnRunner


def _create_runner(process: HostProcess) -> "PostTurnRunner":
    from sophon_hosting.features.post_turn.runner import PostTurnRunner  # lazy: only a process with a host needs it

    return PostTurnRunner(process.services, process.host.event_bus, process.host.pipelines)


FEATURE: Final = Feature(
    "post_turn",
    services=[FeatureService(_create_runner, Phase.AFTER_TURNS)],
    events=[
        "sophon_hosting.features.post_turn.events:SessionTitled",
        "sophon_hosting.features.post_turn.events:MemoryLearned",
    ],
)

"""Pipeline registry: a chain for each task type and a default one, which can be replaced while turns run."""

from collections.abc import Awaitable, Callable, Mapping

from sophon._python.lazy_dataclass import dataclass
from sophon.chain.pipeline import Pipeline
from sophon.context import Context
from sophon.errors import CompositionError
from sophon.messages import Response
from sophon.task_types import TASK_TYPES, TaskType


@dataclass(frozen=True, slots=True)
class _Chains:
    """The chains of one moment; replaced as a whole, so that a turn sees those before a change or those after it."""

    default: Pipeline
    by_type: Mapping[TaskType, Pipeline]


class PipelineRegistry:
    """Chains by task type, with a default for the others; runs a turn as a `Pipeline` does.

    A turn is classified when it starts, by `Routing.Classification`, and stays with the chain that it has got, its plan
    steps included: a chain that is replaced ends its turns. A turn that is resumed gets the chain that its task type
    has then. Without chains by task type nothing is classified. Not for several threads. Source: clawft.

    Raises CompositionError for what is no chain or no task type.
    """

    def __init__(self, default: Pipeline, by_type: Mapping[TaskType, Pipeline] | None = None) -> None:
        for kind, chain in (by_type or {}).items():
            _check(chain, kind)
        self._chains = _Chains(_check(default), dict(by_type or {}))

    @property
    def default(self) -> Pipeline:
        """The chain of the task types that have none of their own."""
        return self._chains.default

    @property
    def by_type(self) -> Mapping[TaskType, Pipeline]:
        """The chains of task types, as they are now."""
        return dict(self._chains.by_type)

    def find(self, task_type: TaskType) -> Pipeline:
        """Return the chain of a task type, which may be the default one."""
        return self._chains.by_type.get(task_type, self._chains.default)

    def replace(self, chain: Pipeline, task_type: TaskType | None = None) -> Pipeline | None:
        """Set the chain of a task type, by default the default chain, for turns that start later.

        Returns the chain that was there, None if the task type had none of its own. Raises CompositionError.
        """
        before = self._chains
        if task_type is None:
            self._chains = _Chains(_check(chain), before.by_type)
            return before.default
        self._chains = _Chains(before.default, {**before.by_type, task_type: _check(chain, task_type)})
        return before.by_type.get(task_type)

    def remove(self, task_type: TaskType) -> Pipeline | None:
        """Let the default chain run turns of a task type that start later; return the chain that it had."""
        before = self._chains
        kept: dict[TaskType, Pipeline] = {kind: chain for kind, chain in before.by_type.items() if kind != task_type}
        self._chains = _Chains(before.default, kept)
        return before.by_type.get(task_type)

    def map(self, change: Callable[[Pipeline], Pipeline]) -> "PipelineRegistry":
        """Return a registry of the chains that the function returns."""
        chains = self._chains
        by_type: dict[TaskType, Pipeline] = {}
        for kind, chain in chains.by_type.items():
            by_type[kind] = change(chain)
        return PipelineRegistry(change(chains.default), by_type)

    def run(self, ctx: Context) -> Awaitable[Response]:
        """Run one turn through the chain of its task type; see `Pipeline.run`."""
        chains = self._chains
        return self._run(ctx) if chains.by_type else chains.default.run(ctx)

    async def _run(self, ctx: Context) -> Response:
        # Lazy: only chains by task type need it.
        from sophon.routing.context_keys import MESSAGE_VECTOR, TASK_PROFILE

        profile = ctx.get(TASK_PROFILE)
        if profile is None:
            profile, vector = await ctx.services.learning.router.classify(ctx.text)
            ctx.put(TASK_PROFILE, profile)
            if vector is not None:
                ctx.put(MESSAGE_VECTOR, vector)
        return await self.find(profile.task_type).run(ctx)


def _check(chain: object, task_type: str | None = None) -> Pipeline:
    if task_type is not None and task_type not in TASK_TYPES:
        raise CompositionError(f"there is no task type {task_type!r}; there are {', '.join(TASK_TYPES)}")
    if not isinstance(chain, Pipeline):
        raise CompositionError(f"{type(chain).__name__} is no Pipeline; compose one with Pipeline.compose(...)")
    return chain

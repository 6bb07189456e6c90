"""Fences of the turns that run in one session: in whose name its transactions store what is pending and staged."""

from collections.abc import Callable

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.run_fence import RunFence


@dataclass(slots=True)
class FencedStart:
    """Start of a run in a session; `on_stale` is to be called once the store has refused its fence.

    It `is_released` once its turn has ended; what the turn has left pending still carries its fence.
    """

    fence: RunFence
    on_stale: Callable[[], None]
    is_released: bool = False
    is_stale: bool = False


class SessionFences(dict[str, FencedStart]):
    """Fenced starts by run id, from the start of a turn until nothing that it has emitted or staged waits any more.

    Once the store has found one old, whatever else its turn emits and stages until it ends `is_stale`.
    """

    def forget_released(self) -> None:
        """Forget the fences of turns that have ended; nothing of them waits any more."""
        for run_id in [run_id for run_id, start in self.items() if start.is_released]:
            del self[run_id]

    def refuse(self, fence: RunFence) -> FencedStart | None:
        """Note that the store has found a fence old; return its start, or None if that is known or the fence is not."""
        start = self.get(fence.run_id)
        if start is None or start.fence != fence or start.is_stale:
            return None
        start.is_stale = True
        if start.is_released:
            del self[fence.run_id]
        return start

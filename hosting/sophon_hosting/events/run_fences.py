"""Fences of the turns that run in a session here: each transaction of the session carries them."""

from collections.abc import Callable, Sequence

from sophon._python.lazy_dataclass import dataclass
from sophon.stores.run_fence import RunFence


@dataclass(slots=True)
class _Entry:
    fence: RunFence
    on_stale: Callable[[], None]
    is_released: bool = False
    is_stale: bool = False


class SessionFences:
    """Fences by run id, from the start of a turn until nothing that it has emitted or staged waits any more.

    Once the store has found one old, whatever else its turn emits and stages until it ends `is_stale`.
    """

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, fence: RunFence, on_stale: Callable[[], None]) -> None:
        """Fence what a start of a run emits and stages; `on_stale` is called once the store has refused it."""
        self._entries[fence.run_id] = _Entry(fence, on_stale)

    def release(self, fence: RunFence, *, is_needed: bool) -> None:
        """Forget the fence of a turn that has ended, now or, if it `is_needed`, with `forget_released`."""
        entry = self._entries.get(fence.run_id)
        if entry is not None and entry.fence == fence:
            entry.is_released = True
            if entry.is_stale or not is_needed:
                del self._entries[fence.run_id]

    def forget_released(self) -> None:
        """Forget the fences of turns that have ended; nothing of them waits any more."""
        self._entries = {run_id: entry for run_id, entry in self._entries.items() if not entry.is_released}

    def list(self) -> Sequence[RunFence]:
        """Return the fences that no store has refused."""
        return [entry.fence for entry in self._entries.values() if not entry.is_stale]

    def is_stale(self, run_id: str) -> bool:
        """Return whether the turn of a run that is still ending here was continued elsewhere."""
        entry = self._entries.get(run_id)
        return entry is not None and entry.is_stale

    def refuse(self, fence: RunFence) -> bool:
        """Note that the store has found a fence old, and tell its turn; return False if that is known, or the fence is
        not.
        """
        entry = self._entries.get(fence.run_id)
        if entry is None or entry.fence != fence or entry.is_stale:
            return False
        entry.is_stale = True
        if entry.is_released:
            del self._entries[fence.run_id]
        entry.on_stale()
        return True

    def clear(self) -> None:
        """Forget all fences."""
        self._entries.clear()

"""In-memory data labels."""

from collections.abc import Mapping, Sequence

from sophon.security.information_flow.taint import UNTAINTED, Taint
from sophon.stores.data_labels.contract import LabelWrite, session_key


class InMemoryDataLabelStore:
    """The data labels of an `InMemoryStore`; see `DataLabelStore`."""

    def __init__(self) -> None:
        self._taints: dict[str, Taint] = {}

    async def find(self, keys: Sequence[str]) -> dict[str, Taint]:
        """See `DataLabelStore.find`."""
        return {key: self._taints[key] for key in keys if key in self._taints}

    async def write(self, writes: Sequence[LabelWrite]) -> None:
        """See `DataLabelStore.write`."""
        self.put(writes)

    def put(self, writes: Sequence[LabelWrite]) -> None:
        """Write taints."""
        for key, taint in apply_writes(self._taints, writes).items():
            if taint == UNTAINTED:
                self._taints.pop(key, None)
            else:
                self._taints[key] = taint

    def forget_session(self, session_id: str) -> None:
        """Delete the taint of a session that is deleted."""
        self._taints.pop(session_key(session_id), None)

    def copy_session(self, session_id: str, new_id: str) -> None:
        """Give the taint of a session to its fork."""
        taint = self._taints.get(session_key(session_id))
        if taint is not None:
            self._taints[session_key(new_id)] = taint


def apply_writes(present: Mapping[str, Taint], writes: Sequence[LabelWrite]) -> dict[str, Taint]:
    """Return the taints of the written keys; `present` holds those that they have now."""
    changed: dict[str, Taint] = {}
    for write in writes:
        before = UNTAINTED if write.replaces else changed.get(write.key, present.get(write.key, UNTAINTED))
        changed[write.key] = before.merge(write.taint)
    return changed

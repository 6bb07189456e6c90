"""Direct calls: runs that are one tool call of a client, behind everything that guards a call; no model is asked."""

from sophon.chain.pipeline import Pipeline
from sophon.context import Context
from sophon.messages import ToolCall
from sophon.turn.provenance import CLIENT_SOURCE, note_untrusted_source
from sophon_hosting.runs.run_kinds import CALL, is_unattended
from sophon_hosting.store.runs.contract import Run
from sophon_middlewares.stages.direct_call import DIRECT_CALL, build_direct_chain


def put_direct_call(ctx: Context, run: Run) -> None:
    """Prepare the turn of such a run. The call's id follows from that of the run: a restart makes the same call."""
    call = run.options[CALL]
    ctx.put(DIRECT_CALL, ToolCall(f"call_{run.id}", call["tool"], call["arguments"]))
    if not is_unattended(run):  # its arguments are of a plan, which is made of what its owner has approved
        note_untrusted_source(ctx, CLIENT_SOURCE)


class DirectChains:
    """The chain of direct calls, built from the chain of the host with the first call and when that is replaced."""

    def __init__(self) -> None:
        self._built: tuple[Pipeline, Pipeline] | None = None

    def find(self, chain: Pipeline) -> Pipeline:
        """Return the chain of direct calls for a chain. Raises CompositionError if that runs no tools."""
        if self._built is None or self._built[0] is not chain:
            self._built = (chain, build_direct_chain(chain))
        return self._built[1]

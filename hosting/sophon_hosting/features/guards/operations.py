"""Operations on the policy: what is allowed to whom, and the trial of a call."""

from typing import Annotated, Any, Final

from sophon._python.value_rules import ValueRules
from sophon_hosting.client_api.caller import Caller
from sophon_hosting.client_api.client_errors import TooLarge
from sophon_hosting.features.guards.call_trial import try_call
from sophon_hosting.features.guards.policy_overview import describe_access, describe_policy
from sophon_hosting.features.guards.results import CallTrialView, PolicyOverview
from sophon_hosting.json_text import json_bytes
from sophon_hosting.operations.request import Doc, NoFields, Request
from sophon_hosting.operations.table import Table

table = Table("guards")

MAX_ARGUMENT_BYTES: Final = 20_000
"""Size of the arguments of a trial, as JSON: the rules read all of it, which takes up to 50 ms of the event loop."""


class CallTrialRequest(Request):
    """A call that is tried and does not run."""

    tool: Annotated[str, ValueRules(min_length=1, max_length=200), Doc("Name of a tool or action type.")]
    arguments: Annotated[dict[str, Any], Doc("The arguments of the call.")] = {}  # noqa: RUF012 - pydantic copies it


@table.operation("GET /api/policy", needs="Read")
async def get_policy(caller: Caller, request: NoFields) -> PolicyOverview:
    """Return the guards, when people are asked, and what happens to calls of each tool; rules for operators only."""
    host, user = caller.host, caller.user
    return describe_policy(host.services, host.chain, user.id, is_operator=user.operator)


@table.operation(
    "POST /api/policy/test",
    needs="Read",
    errors=(TooLarge,),
    example={"tool": "files.write", "arguments": {"path": "notes.txt", "text": "hello"}},
)
async def try_tool_call(caller: Caller, request: CallTrialRequest) -> CallTrialView:
    """Return what the rules say about a call of the user: verdict, tier and rule. The call does not run."""
    size = json_bytes(request.arguments)
    if size > MAX_ARGUMENT_BYTES:
        raise TooLarge("the arguments", size, MAX_ARGUMENT_BYTES, "bytes")
    services, user_id = caller.host.services, caller.user.id
    trial = await try_call(
        request.tool, request.arguments, settings=services.settings, folder=services.folder, principal=user_id
    )
    return {**trial.to_json(), **describe_access(services, request.tool, user_id)}

"""Calls of operations by a caller in this process."""

from typing import Any, TypeVar

from sophon_hosting.client_api.caller import Caller
from sophon_hosting.operations.operation import Operation
from sophon_hosting.operations.request import Request

Q = TypeVar("Q", bound=Request)
R = TypeVar("R")


async def call(caller: Caller, operation: Operation[Q, R], **fields: Any) -> R:
    """Validate the fields as a request and call the operation, with its permission check."""
    return await operation.call(caller, operation.request.validate(fields))

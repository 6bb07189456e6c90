"""Which task an approval request belongs to."""

from sophon.approvals import ApprovalRequest, turn_id_from_request


def task_id_from_request(request: ApprovalRequest) -> str:
    """Return the id of the top-level run; a request of a plan step has the run id `task/step`."""
    return turn_id_from_request(request)

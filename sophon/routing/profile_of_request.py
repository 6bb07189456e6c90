"""The task profile of a routing request."""

from sophon.learning.task_profile import TaskProfile
from sophon.routing.contract import RouteRequest


def profile_of(request: RouteRequest) -> TaskProfile:
    """Return the profile, that of an empty message if there is none."""
    return request.profile or _EMPTY


_EMPTY = TaskProfile()

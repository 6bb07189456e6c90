"""The API answers with the recorded shapes, and every route that is no operation has one.

Those of an operation are in its declaration, and `test_openapi_conformance` compares its answers with that.

A change that is meant is recorded by `python -m tests.hosting.http.api_shapes`.
"""

from pathlib import Path

from sophon_hosting.features.registry import builtin_operations
from tests.hosting.http.api_shapes.recorder import find_problems, list_successes, read_recording
from tests.hosting.http.api_shapes.scenario import play
from tests.hosting.http.api_shapes.served import serve

RECORD = "if this is meant, run `python -m tests.hosting.http.api_shapes`, and say it in CHANGELOG.md"


async def test_every_answer_has_the_recorded_shape(tmp_path: Path) -> None:
    served = await play(tmp_path)
    problems = find_problems(read_recording(), served.recorder.rows)
    assert not problems, "\n".join([*problems, RECORD])


async def test_every_route_that_is_no_operation_is_recorded(tmp_path: Path) -> None:
    async with serve(tmp_path) as served:
        routes = {
            f"{route.method} {route.resource.canonical}"
            for route in served.routes.routes()
            if route.resource is not None
            and route.resource.canonical.startswith(("/api/", "/v1/"))
            and route.method != "HEAD"
        }
    declared = {f"{each.method} {each.path}" for each in builtin_operations().operations}
    assert sorted(routes - declared - list_successes(read_recording())) == []

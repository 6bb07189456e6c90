"""Bodies of requests about custom tools."""

from sophon_hosting.http.json_io import RequestBody


class CustomToolChange(RequestBody):
    """Body of a change of a custom tool; `shared` is for operators."""

    enabled: bool | None = None
    shared: bool | None = None

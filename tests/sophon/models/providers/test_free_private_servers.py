"""Which server is the user's own: by its address, or by the type of the provider."""

from sophon.models.providers.free_private_servers import is_private_server
from tests.tables import table


@table(
    ("kind", "url", "private"),
    [
        ("openai", None, False),
        ("openai", "https://api.openai.com/v1", False),
        ("openai_compatible", "http://127.0.0.1:8000/v1", True),
        ("openai_compatible", "http://[::1]:8000/v1", True),
        ("openai_compatible", "http://localhost:1234/v1", True),
        ("openai_compatible", "http://192.168.1.7/v1", True),
        ("openai_compatible", "http://box/v1", True),
        ("openai_compatible", "http://gpu.lan:8000/v1", True),
        ("openai_compatible", "https://8.8.8.8/v1", False),
        ("openai_compatible", "https://llm.example.com/v1", False),
        ("openai_compatible", "https://localhost.example.com/v1", False),
        ("openai_compatible", "https://192.168.1.7.example.com/v1", False),
        ("lm_studio", None, True),
        ("lm_studio", "https://llm.example.com/v1", False),
        ("groq", None, False),
    ],
)
def test_a_server_is_private_by_its_address(kind: str, url: str | None, private: bool) -> None:
    assert is_private_server(kind, url) is private

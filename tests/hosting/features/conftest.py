"""Operations are tested over HTTP, or by a caller in this process."""

from tests.hosting.client_api.conftest import office
from tests.hosting.http.conftest import ada, api, bob, olga, serve

__all__ = ["ada", "api", "bob", "office", "olga", "serve"]

"""What a host stores, over each database."""

from tests.host_stores import clock as clock
from tests.host_stores import store as store
from tests.host_stores import store_url as store_url

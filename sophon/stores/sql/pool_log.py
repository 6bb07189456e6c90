"""The log of SQLAlchemy's connection pools: without the tracebacks of connections that the server has closed.

Whoever uses such a connection gets the error, and the health of the store logs the outage once.
"""

import logging

from sqlalchemy.engine.interfaces import DBAPIModule

POOL_NAME = "sophon"
"""Name of the stores' pools in their logger, so that the pools of other programs keep theirs."""

_LOGGER = logging.getLogger(f"sqlalchemy.pool.impl.QueuePool.{POOL_NAME}")


class LostConnectionFilter(logging.Filter):
    """Drops the lines about an error of the connection itself; any other error stays."""

    def __init__(self, driver: DBAPIModule) -> None:
        super().__init__()
        self._errors: tuple[type[Exception], ...] = (driver.OperationalError, driver.InterfaceError)

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether the line is written."""
        return record.exc_info is None or not isinstance(record.exc_info[1], self._errors)


def silence_lost_connections(driver: DBAPIModule) -> None:
    """Add the filter for the errors of a driver (PEP 249) to the logger of the stores' pools, once."""
    if not any(isinstance(each, LostConnectionFilter) for each in _LOGGER.filters):
        _LOGGER.addFilter(LostConnectionFilter(driver))

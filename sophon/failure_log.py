"""Log a failure of a background task: with its traceback, unless the store is unavailable, which the store logs."""

import logging

from sophon.errors import StoreUnavailable


def log_failure(log: logging.Logger, error: BaseException, message: str, *arguments: object) -> None:
    """Log an error with its traceback; one line at level debug if the store is unavailable.

    `StoreHealth` logs once that the store became unavailable, so that its cause is not repeated by every task.
    """
    if isinstance(error, StoreUnavailable):
        log.debug(f"{message}: %s", *arguments, error)
    else:
        log.error(message, *arguments, exc_info=error)

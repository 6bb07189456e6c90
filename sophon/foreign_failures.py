"""Exceptions of third-party code that are no `Exception`: a failed call all the same, save what ends the program."""

from typing import cast


def ends_program(error: BaseException) -> bool:
    """Return whether an exception is meant for the interpreter, or the coroutine itself, and not for who called.

    Any other BaseException, such as the PanicException of a library in Rust, is a failure of the code that raised it.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(ends_program, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    return isinstance(error, KeyboardInterrupt | GeneratorExit)

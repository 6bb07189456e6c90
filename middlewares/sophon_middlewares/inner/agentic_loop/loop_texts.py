"""Texts by which the loop detector warns the model, or says why a call was refused."""


def warning_text(tool: str, often: str) -> str:
    """Return the warning for a repeated call."""
    return (
        f"{tool} was called {often} with the same arguments. Use its result, change the arguments, "
        f"try another way, or answer with what you have."
    )


def refusal_text(tool: str, often: str) -> str:
    """Return the refusal of a repeated call."""
    return (
        f"{tool} was called {often} with the same arguments and the result did not change, so it was not run again. "
        f"Try another way, or answer with what you have."
    )


def overuse_text(tool: str, often: str) -> str:
    """Return the refusal of a call that was made too often although its results changed."""
    return (
        f"{tool} was called {often} with the same arguments, so it was not run again. Answer with what you have, or "
        f"change the arguments."
    )


def unusable_text(problem: str, often: str) -> str:
    """Return the warning or refusal for calls that cannot run; their arguments do not matter."""
    return f"{problem}. Calls that cannot run were made {often}. Use tools that are offered, or answer without them."


ALTERNATION_WARNING = (
    "you alternate between the same two calls. Use their results, try another way, or answer with what you have."
)


def alternation_refusal(tool: str, count: int) -> str:
    """Return the refusal of a call of an alternating pair."""
    return (
        f"the last {count} calls alternate between {tool} and one other call, and no result changed, so it was not run "
        f"again. Try another way, or answer with what you have."
    )


def cycle_refusal(tool: str, count: int) -> str:
    """Return the refusal of a call of a longer cycle."""
    return (
        f"the last {count} calls, {tool} among them, only repeated earlier calls, and no result changed, so it was not "
        f"run again. Try another way, or answer with what you have."
    )

"""How many examples a property-based test tries: few, the same in each run; or many new ones in `make properties`."""

from hypothesis import settings

FEW, MANY = "few", "many"
MANY_TIMES = 8
USUAL = 50

# No deadline: a busy machine is no finding.
settings.register_profile(FEW, deadline=None, max_examples=USUAL, derandomize=True)
settings.register_profile(MANY, deadline=None, max_examples=USUAL * MANY_TIMES, print_blob=True)


def examples(few: int) -> int:
    """Return the `max_examples` of a property for which the usual number is too small or too large."""
    return few * MANY_TIMES if settings.get_current_profile_name() == MANY else few

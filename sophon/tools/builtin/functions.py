"""The functions, constants and bounds of the calculator."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from sophon.errors import ToolError

Number = Fraction | float
"""A fraction is exact; a float is the nearest there is."""

MAX_BITS = 13_000
"""Of a numerator or denominator: about 3900 decimal digits, below the length that Python refuses to print (4300)."""

MAX_FACTORIAL = 1000
MAX_PLACES = 100
"""Of `round`."""


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the calculator: `arity` is the least and the most arguments it takes."""

    compute: Callable[..., Number]
    arity: tuple[int, int] = (1, 1)

    @property
    def takes(self) -> str:
        """How many arguments, in words."""
        least, most = self.arity
        if most > 2:
            return f"{least} argument or more"
        return f"{least} or {most} arguments" if least != most else f"{least} argument{'s' * (least > 1)}"


def checked(value: Number) -> Number:
    """`value` itself; raises ToolError where it is too large to go on with, or no number."""
    if isinstance(value, int):
        value = Fraction(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ToolError("the result is too large")
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ToolError("the result is too large to be exact: it has more than 3900 digits")
    return value


def power(base: Number, exponent: Number) -> Number:
    """`base ** exponent`, exact for whole exponents; the size of the result is known before it is worked out."""
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        # 1, 0 and -1 stay what they are, however often they are multiplied.
        if abs(base) not in (0, 1) and (bits - 1) * abs(exponent.numerator) > MAX_BITS:
            raise ToolError("the result of ** is too large: it has more than 3900 digits")
        if abs(base) in (0, 1):
            return _trivial_power(base, exponent.numerator)
        return Fraction(base**exponent.numerator)
    if base < 0:
        raise ToolError("a negative number to a power that is not whole has no real value")
    result: float = float(base) ** float(exponent)
    return result


def _trivial_power(base: Fraction, exponent: int) -> Fraction:
    if base == 0 and exponent < 0:
        raise ZeroDivisionError
    if base == 0:
        return Fraction(exponent == 0)
    return Fraction(base if exponent % 2 else 1)


def _square_root(value: Number) -> Number:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return math.sqrt(value)


def _logarithm(value: Number, base: Number | None = None) -> Number:
    if base is None:
        return _natural(value)
    exact = _whole_logarithm(value, base)
    return _natural(value) / _natural(base) if exact is None else exact


def _natural(value: Number) -> float:
    # A fraction may be far beyond what a float holds, while its logarithm is a small number.
    if isinstance(value, Fraction) and value > 0:
        return math.log(value.numerator) - math.log(value.denominator)
    return math.log(value)


def _whole_logarithm(value: Number, base: Number) -> Number | None:
    """The logarithm where it is a whole number, such as log(1000, 10): floats would give 2.9999999999999996."""
    if value <= 0 or base <= 1 or isinstance(value, float) or isinstance(base, float):
        return None
    near = round(_natural(value) / _natural(base))
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    return Fraction(near) if bits * abs(near) <= 2 * MAX_BITS and base**near == value else None


def _rounded(value: Number, places: Number = Fraction(0)) -> Number:
    """Halves are rounded away from zero, as on paper; a float is taken as the decimal it is shown as."""
    if places != int(places) or _absolute(places) > MAX_PLACES:
        raise ToolError(f"round takes a whole number of places between -{MAX_PLACES} and {MAX_PLACES}")
    exact = Fraction(repr(value)) if isinstance(value, float) else value
    unit = Fraction(10) ** -int(places)
    whole = math.floor(_absolute(exact) / unit + Fraction(1, 2))
    return whole * unit * (-1 if exact < 0 else 1)


def _factorial(value: Number) -> Number:
    if value != int(value) or not 0 <= value <= MAX_FACTORIAL:
        raise ToolError(f"factorial takes a whole number from 0 to {MAX_FACTORIAL}")
    return Fraction(math.factorial(int(value)))


def _circular(function: Callable[[float], float]) -> Callable[[Number], Number]:
    def compute(angle: Number) -> Number:
        result = function(float(angle))
        # sin(pi) is 0; that pi is not quite pi as a float is nothing the person asked about.
        return Fraction(0) if abs(result) < 1e-15 and _absolute(angle) > 1 else result

    return compute


def _absolute(value: Number) -> Number:
    return -value if value < 0 else value


def _floor(value: Number) -> Number:
    return Fraction(math.floor(value))


def _ceiling(value: Number) -> Number:
    return Fraction(math.ceil(value))


def _decimal_logarithm(value: Number) -> Number:
    return _logarithm(value, Fraction(10))


def _binary_logarithm(value: Number) -> Number:
    return _logarithm(value, Fraction(2))


CONSTANTS: dict[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}
FUNCTIONS: dict[str, Function] = {
    "sqrt": Function(_square_root),
    "abs": Function(_absolute),
    "round": Function(_rounded, (1, 2)),
    "min": Function(min, (1, 100)),
    "max": Function(max, (1, 100)),
    "floor": Function(_floor),
    "ceil": Function(_ceiling),
    "log": Function(_logarithm, (1, 2)),
    "ln": Function(_natural),
    "log10": Function(_decimal_logarithm),
    "log2": Function(_binary_logarithm),
    "exp": Function(math.exp),
    "sin": Function(_circular(math.sin)),
    "cos": Function(_circular(math.cos)),
    "tan": Function(_circular(math.tan)),
    "factorial": Function(_factorial),
}

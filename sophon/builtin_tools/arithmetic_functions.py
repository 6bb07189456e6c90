"""Functions, constants and bounds of the arithmetic evaluator."""

import math
from collections.abc import Callable
from fractions import Fraction

from sophon._python.lazy_dataclass import dataclass
from sophon.errors import ToolError

ArithmeticNumber = Fraction | float
"""Number of the evaluator: an exact Fraction, or a float approximation."""

MAX_BITS = 13_000
"""Maximum size of a numerator or denominator: about 3900 decimal digits, below Python's limit for printing (4300)."""

MAX_FACTORIAL = 1000
MAX_ROUND_PLACES = 100
"""Maximum number of places of `round`."""


@dataclass(frozen=True, slots=True)
class ArithmeticFunction:
    """Function of the calculator: `arity` is the minimum and maximum number of arguments."""

    compute: Callable[..., ArithmeticNumber]
    arity: tuple[int, int] = (1, 1)

    @property
    def arity_text(self) -> str:
        """Number of arguments as text."""
        least, most = self.arity
        if most > 2:
            return f"{least} argument or more"
        return f"{least} or {most} arguments" if least != most else f"{least} argument{'s' * (least > 1)}"


def check_magnitude(value: ArithmeticNumber) -> ArithmeticNumber:
    """Return `value`; raises ToolError if it is too large or not finite."""
    if isinstance(value, int):
        value = Fraction(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ToolError("the result is too large")
    elif max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        raise ToolError("the result is too large to be exact: it has more than 3900 digits")
    return value


def compute_power(base: ArithmeticNumber, exponent: ArithmeticNumber) -> ArithmeticNumber:
    """Return `base ** exponent`, exact for integer exponents; the result's size is checked before computing it."""
    if isinstance(base, Fraction) and isinstance(exponent, Fraction) and exponent.denominator == 1:
        bits = max(base.numerator.bit_length(), base.denominator.bit_length())
        # Powers of 1, 0 and -1 never grow.
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


def _square_root(value: ArithmeticNumber) -> ArithmeticNumber:
    if isinstance(value, Fraction) and value >= 0:
        root = Fraction(math.isqrt(value.numerator), math.isqrt(value.denominator))
        if root * root == value:
            return root
    return math.sqrt(value)


def _logarithm(value: ArithmeticNumber, base: ArithmeticNumber | None = None) -> ArithmeticNumber:
    if base is None:
        return _natural_logarithm(value)
    exact = _integer_logarithm(value, base)
    return _natural_logarithm(value) / _natural_logarithm(base) if exact is None else exact


def _natural_logarithm(value: ArithmeticNumber) -> float:
    # A fraction may exceed the range of a float although its logarithm is small.
    if isinstance(value, Fraction) and value > 0:
        return math.log(value.numerator) - math.log(value.denominator)
    return math.log(value)


def _integer_logarithm(value: ArithmeticNumber, base: ArithmeticNumber) -> ArithmeticNumber | None:
    """Return the logarithm if it is an integer, such as log(1000, 10), for which floats give 2.9999999999999996."""
    if value <= 0 or base <= 1 or isinstance(value, float) or isinstance(base, float):
        return None
    near = round(_natural_logarithm(value) / _natural_logarithm(base))
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    return Fraction(near) if bits * abs(near) <= 2 * MAX_BITS and base**near == value else None


def _round_half_away_from_zero(value: ArithmeticNumber, places: ArithmeticNumber = Fraction(0)) -> ArithmeticNumber:
    """Round half away from zero; a float is rounded as the decimal of its repr."""
    if places != int(places) or _absolute(places) > MAX_ROUND_PLACES:
        raise ToolError(f"round takes a whole number of places between -{MAX_ROUND_PLACES} and {MAX_ROUND_PLACES}")
    exact = Fraction(repr(value)) if isinstance(value, float) else value
    unit = Fraction(10) ** -int(places)
    whole = math.floor(_absolute(exact) / unit + Fraction(1, 2))
    return whole * unit * (-1 if exact < 0 else 1)


def _factorial(value: ArithmeticNumber) -> ArithmeticNumber:
    if value != int(value) or not 0 <= value <= MAX_FACTORIAL:
        raise ToolError(f"factorial takes a whole number from 0 to {MAX_FACTORIAL}")
    return Fraction(math.factorial(int(value)))


def _trigonometric(function: Callable[[float], float]) -> Callable[[ArithmeticNumber], ArithmeticNumber]:
    def compute(angle: ArithmeticNumber) -> ArithmeticNumber:
        result = function(float(angle))
        # sin(pi) must be 0 although the float pi is not exactly pi.
        return Fraction(0) if abs(result) < 1e-15 and _absolute(angle) > 1 else result

    return compute


def _absolute(value: ArithmeticNumber) -> ArithmeticNumber:
    return -value if value < 0 else value


def _floor(value: ArithmeticNumber) -> ArithmeticNumber:
    return Fraction(math.floor(value))


def _ceiling(value: ArithmeticNumber) -> ArithmeticNumber:
    return Fraction(math.ceil(value))


def _minimum(*values: ArithmeticNumber) -> ArithmeticNumber:
    return min(values)  # of the tuple: min(x) of a single number would iterate over it


def _maximum(*values: ArithmeticNumber) -> ArithmeticNumber:
    return max(values)


def _decimal_logarithm(value: ArithmeticNumber) -> ArithmeticNumber:
    return _logarithm(value, Fraction(10))


def _binary_logarithm(value: ArithmeticNumber) -> ArithmeticNumber:
    return _logarithm(value, Fraction(2))


CONSTANTS: dict[str, ArithmeticNumber] = {"pi": math.pi, "e": math.e, "tau": math.tau}
FUNCTIONS: dict[str, ArithmeticFunction] = {
    "sqrt": ArithmeticFunction(_square_root),
    "abs": ArithmeticFunction(_absolute),
    "round": ArithmeticFunction(_round_half_away_from_zero, (1, 2)),
    "min": ArithmeticFunction(_minimum, (1, 100)),
    "max": ArithmeticFunction(_maximum, (1, 100)),
    "floor": ArithmeticFunction(_floor),
    "ceil": ArithmeticFunction(_ceiling),
    "log": ArithmeticFunction(_logarithm, (1, 2)),
    "ln": ArithmeticFunction(_natural_logarithm),
    "log10": ArithmeticFunction(_decimal_logarithm),
    "log2": ArithmeticFunction(_binary_logarithm),
    "exp": ArithmeticFunction(math.exp),
    "sin": ArithmeticFunction(_trigonometric(math.sin)),
    "cos": ArithmeticFunction(_trigonometric(math.cos)),
    "tan": ArithmeticFunction(_trigonometric(math.tan)),
    "factorial": ArithmeticFunction(_factorial),
}

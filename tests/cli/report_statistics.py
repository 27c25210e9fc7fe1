"""Statistics that a report states, computed in another way than the program does: no tables, no random numbers."""

import fractions
import functools
import math


def _area(start, to, freedom):
    """Of Student's t between two angles, by Simpson's rule: its density is cos^(freedom - 1) there."""
    steps = 2000
    width = (to - start) / steps
    return width / 3 * sum((1 if k in (0, steps) else 4 if k % 2 else 2) * max(math.cos(start + k * width), 0) ** (freedom - 1)
                           for k in range(steps + 1))


@functools.lru_cache(maxsize=None)
def t_quantile(freedom, missed=0.025):
    """What Student's t exceeds with the probability `missed`."""
    low, high, half = 0.0, math.pi / 2, _area(0, math.pi / 2, freedom)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _area(middle, math.pi / 2, freedom) > 2 * missed * half else (low, middle)
    return math.sqrt(freedom) * math.tan(low)


def mean_error(values):
    """The standard error of the mean and its degrees of freedom; None for fewer than two."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    return math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1) / len(values)), len(values) - 1


def mean_half_width(values):
    """Of the 95 % interval of the mean; None for fewer than two."""
    error = mean_error(values)
    return error and error[0] * t_quantile(error[1])


def lead_reach(first, other, competing):
    """Half the interval of the lead over one of all that compete, from (error, freedom) of both: Welch's, where all
    others share what may be missed. None where an error is not known."""
    if first is None or other is None:
        return None
    squares = [error ** 2 for error, _ in (first, other)]
    if sum(squares) == 0:
        return 0
    freedom = sum(squares) ** 2 / sum(x * x / f for x, (_, f) in zip(squares, (first, other)))
    return t_quantile(freedom, 0.025 / max(competing - 1, 1)) * math.sqrt(sum(squares))


def median_interval(values, count):
    """Of the median of ratios, one of `count` that hold together: (low, high), or None for fewer than three. In whole
    numbers: so many of 2^n subsets."""
    ordered, n, missed = sorted(values), len(values), fractions.Fraction(1, 20 * count)
    if n < 3:
        return None
    below, at = 0, 0
    while 2 * (below + math.comb(n, at)) <= missed * 2 ** n:
        below, at = below + math.comb(n, at), at + 1
    if at == 0:
        logs = [math.log(v) for v in values]
        error, freedom = mean_error(logs)
        half = t_quantile(freedom, float(missed) / 2) * error
        return math.exp(sum(logs) / n - half), math.exp(sum(logs) / n + half)
    part = float((missed * 2 ** n / 2 - below) / math.comb(n, at))
    share = (n - at) * part / (at + (n - 2 * at) * part)
    return (ordered[at - 1] ** (1 - share) * ordered[at] ** share, ordered[-at] ** (1 - share) * ordered[-at - 1] ** share)

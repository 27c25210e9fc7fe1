"""Statistics that a report states, computed in another way than the program does: no tables, no random numbers."""

import functools
import math


def _area(to, freedom):
    """Below Student's t up to an angle, by Simpson's rule: its density is cos^(freedom - 1) there."""
    steps = 400
    width = to / steps
    return width / 3 * sum((1 if k in (0, steps) else 4 if k % 2 else 2) * math.cos(k * width) ** (freedom - 1)
                           for k in range(steps + 1))


@functools.lru_cache(maxsize=None)
def t_quantile(freedom):
    """The 97.5 % quantile."""
    low, high, half = 0.0, 20.0, _area(math.pi / 2, freedom)
    for _ in range(45):
        middle = (low + high) / 2
        tail = 1 - _area(math.atan(middle / math.sqrt(freedom)), freedom) / half
        low, high = (middle, high) if tail > 0.05 else (low, middle)
    return low


def mean_half_width(values):
    """Of the 95 % interval of the mean; None for fewer than two."""
    if len(values) < 2:
        return None
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((v - mean) ** 2 for v in values) / (len(values) - 1))
    return t_quantile(len(values) - 1) * deviation / math.sqrt(len(values))


def told_apart(a, b):
    """Whether the means of two lists differ by Welch's t-test at 5 %; None where one has fewer than two values."""
    if min(len(a), len(b)) < 2:
        return None
    means = [sum(v) / len(v) for v in (a, b)]
    errors = [sum((x - m) ** 2 for x in v) / (len(v) - 1) / len(v) for v, m in zip((a, b), means)]
    if sum(errors) == 0:
        return means[0] != means[1]
    freedom = sum(errors) ** 2 / sum(x * x / (len(v) - 1) for v, x in zip((a, b), errors))
    return abs(means[0] - means[1]) > t_quantile(max(math.floor(freedom), 1)) * math.sqrt(sum(errors))


def _binomial_tail(n, p, least):
    """P(at least so many of n)."""
    return sum(math.comb(n, k) * p ** k * (1 - p) ** (n - k) for k in range(least, n + 1))


def median_bootstrap_bounds(values, share):
    """Where the quantile `share` of the bootstrap's median lies, with what 500 resamples may be off: (low, high).

    Of n values drawn again the lower or upper median is at most the k-th of them where at least so many of the draws
    are: a binomial count with p = k / n."""
    ordered, n = sorted(values), len(values)
    error = 5 * math.sqrt(share * (1 - share) / 500)

    def quantile(middle, at):
        low, high = 1, n
        while low < high:
            k = (low + high) // 2
            low, high = (low, k) if _binomial_tail(n, k / n, middle) >= at else (k + 1, high)
        return ordered[low - 1]
    return (quantile((n - 1) // 2 + 1, max(share - error, 1e-9)), quantile(n // 2 + 1, min(share + error, 1 - 1e-9)))


def median_limit_bounds(values, share):
    """The same for many values, by the count of those below the median itself: exactly binomial with p = 1/2. Three
    places on either side are for the normal limit that the program takes."""
    ordered, n = sorted(values), len(values)
    chance, at, below = 1, 0, 1
    while below * 1000 < round(share * 1000) * 2 ** n:
        chance = chance * (n - at) // (at + 1)
        at, below = at + 1, below + chance
    return ordered[max(at - 3, 0)], ordered[min(at + 3, n - 1)]

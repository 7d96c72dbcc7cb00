#!/usr/bin/env python3
"""How often the range test of a packed clue misses an honest message, alone and among hostile clues.

Usage: python3 reference/miss.py

The noise of a coordinate, in units of p, is a sum of independent terms: errors of the address meet the sender's
randomness, the sender's errors (halved residues: 1/2 to either side) meet the clue secret; the packing key's errors
meet the residues of *all* clues of the block, the narrowing key's the digits of masks; the digits leave something out;
and 1 + 3 * 36 roundings are uniform. Strangers choose the other clues of a block, not the errors that these meet: of
their residues the mean square counts, here in that of uniform residues. Residues of +-q/2 have 3; servers take up
to 1.12. A bound clue adds 8 residues to each vector, a hash and therefore uniform.

The tail is computed exactly but for the normal approximation of the keys' errors: the Fourier inversion of the
moment generating function, on the line through its saddle point. `omr params show` prints the first term of the
saddle point's expansion, which is up to 0.04 larger. Standard library, a minute.

log2 of what is missed, two coordinates:

    mean square of the others' residues      1    1.12       3
    sophomr-v5, hybrid-v4               -30.13  -30.00  -28.12
    sophomr-v4, hybrid-v3               -30.96  -30.93  -30.40
    sophomr-v5 with a window of 25      -32.56  -32.42  -30.37

A scan of two rounds packs in the same way. Its distances have other roundings: masks are switched in digits and
rounded, which meets a uniform ternary secret of 2,048 coefficients, and a body is rounded to steps, the unit here. The
limits of both coordinates are whole numbers of a mask's units.

    mean square of the others' residues      1    1.12       3    a stranger passes
    scan, limits 1.31 and 0.96          -30.60  -30.59  -30.32   -21.68
    scan, limits 1.25 and 0.96          -30.13  -30.07  -28.79   -21.74
"""

import cmath
import math

from security import narrow, spread

P, Q = 786433, 4188161
N, BOUND, BLOCK = 1024, 8, 512  # residues of a clue, further ones of a bound clue, clues of a block
RANK, DIGITS, DIGIT_BITS = 4, 13, 2
PACKING_LOG_Q, NARROW_LOG_Q = 50, 29.5
ERROR = 3.24037034920393  # centred binomial, 21 coin pairs
ROUNDINGS = 1 + 3 * 36
SCAN_N, GROUPS, SCAN_DIGITS, SCAN_DIGIT_BITS = 2048, 8, 2, 16
# Bits of a body and of a mask, limit in steps of a body, by coordinate.
SCAN = [(15, 22, 1.31), (9, 16, 0.96)]


def uniform(width):
    return width / math.sqrt(12)


def packing_errors(norm, modulus):
    return math.sqrt((N * norm + BOUND) * BLOCK) * uniform(modulus) * spread(narrow(0.62))


def terms(weight, halved, norm):
    """Variance of the normal part; distributions (value, weight) with their numbers."""
    unit = P / Q
    modulus = 2 * Q if halved else Q
    packing = packing_errors(norm, modulus) * P / 2**PACKING_LOG_Q
    masks = RANK * BLOCK
    narrowing = math.sqrt(masks * DIGITS) * uniform(2**DIGIT_BITS) * ERROR * P / 2**NARROW_LOG_Q
    left = max(2 ** (NARROW_LOG_Q - DIGIT_BITS * DIGITS), 1)
    lost = uniform(left) * math.sqrt(masks * 2 / 3) * P / 2**NARROW_LOG_Q
    beta = [(x * unit, w) for x, w in narrow(0.52).items()]
    sender = [(-unit / 2, 0.5), (unit / 2, 0.5)] if halved else beta
    return packing**2 + narrowing**2 + lost**2, [(beta, weight), (sender, weight + 1)]


def rounded(s):
    """The moment generating function of a uniform variable around 0, one unit wide."""
    return 2 * cmath.sinh(s / 2) / s


def roundings_of_digest(s):
    return ROUNDINGS * cmath.log(rounded(s))


def terms_of_scan(weight, halved, norm, body_bits):
    """As `terms`, in steps of a body."""
    unit, modulus = 2**body_bits / Q, 2 * Q if halved else Q
    packing = packing_errors(norm, modulus) / 2**PACKING_LOG_Q
    masks = RANK * BLOCK
    # A coefficient of a body meets each digit of the masks of all groups of a section.
    products = RANK * GROUPS * SCAN_DIGITS * SCAN_N
    switch = math.sqrt(products) * uniform(2**SCAN_DIGIT_BITS) * ERROR / 2**PACKING_LOG_Q
    lost = uniform(1) * math.sqrt(masks * 2 / 3) / 2 ** (SCAN_DIGITS * SCAN_DIGIT_BITS)
    normal = (packing**2 + switch**2 + lost**2) * 4**body_bits
    _, (beta, sender) = terms(weight, halved, norm)
    scaled = [([(x * unit * Q / P, w) for x, w in values], count) for values, count in (beta, sender)]
    return normal, scaled


def log_generating(s, normal, sums, roundings):
    total = normal * s * s / 2 + roundings(s)
    for distribution, count in sums:
        total += count * cmath.log(sum(w * cmath.exp(s * x) for x, w in distribution))
    return total


def missed(weight, halved, window, norm):
    """log2 of the probability that one of two coordinates leaves the window."""
    normal, sums = terms(weight, halved, norm)
    return 1 + log2_outside(normal, sums, roundings_of_digest, window + 0.5)


def missed_by_scan(weight, halved, norm, coordinates=SCAN):
    """log2 of the probability that one of the coordinates lies beyond its limit."""
    total = 0
    for body_bits, mask_bits, limit in coordinates:
        unit = 2 ** (body_bits - mask_bits)
        normal, sums = terms_of_scan(weight, halved, norm, body_bits)

        def roundings(s):
            # A coefficient of the secret is 0 with probability 1/3.
            masks = SCAN_N * cmath.log(1 / 3 + 2 / 3 * rounded(s * unit))
            return masks + cmath.log(rounded(s))

        total += 2 ** log2_outside(normal, sums, roundings, (math.floor(limit / unit) + 0.5) * unit)
    return math.log2(total)


def passed_by_scan(coordinates=SCAN):
    """log2 of the probability that uniform distances lie within all limits."""
    units = [(math.floor(limit * 2 ** (mask - body)), mask) for body, mask, limit in coordinates]
    return sum(math.log2((2 * most + 1) / 2**mask) for most, mask in units)


def log2_outside(normal, sums, roundings, beyond):
    """log2 of the probability that noise is larger than `beyond` to either side."""
    step = 1e-4

    def exponent(s):
        return log_generating(s, normal, sums, roundings) - s * beyond

    low, high = 1e-3, 128.0
    for _ in range(60):
        middle = (low + high) / 2
        slope = (exponent(middle + step) - exponent(middle - step)).real
        low, high = (middle, high) if slope < 0 else (low, middle)
    top = exponent(low).real
    curve = (exponent(low + step) + exponent(low - step) - 2 * exponent(low)).real / step**2
    # 1/pi times the integral of the real part, from 0 on: it falls like exp(-curve t^2 / 2).
    width = 12 / math.sqrt(curve) / 1500
    points = (complex(low, i * width) for i in range(1500))
    heights = [(cmath.exp(exponent(s) - top) / s).real for s in points]
    tail = (sum(heights) - heights[0] / 2) * width / math.pi
    return math.log2(2 * tail) + top / math.log(2)


def main():
    norms = (1, 1.12, 3)
    print(f"{'mean square of the others residues':36}" + "".join(f"{x:8}" for x in norms))
    for name, *clue in [
        ("sophomr-v5, hybrid-v4", 316, True, 24),
        ("sophomr-v4, hybrid-v3", 320, False, 24),
        ("sophomr-v5 with a window of 25", 316, True, 25),
    ]:
        print(f"{name:36}" + "".join(f"{missed(*clue, x):8.2f}" for x in norms))
    for limits in ([1.31, 0.96], [1.25, 0.96], [0.9, 0.8]):
        coordinates = [(body, mask, limit) for (body, mask, _), limit in zip(SCAN, limits)]
        row = "".join(f"{missed_by_scan(316, True, x, coordinates):8.2f}" for x in norms)
        passed = passed_by_scan(coordinates)
        print(f"{f'scan, sophomr-v5, limits {limits}':36}{row}   false positives {passed:.2f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Bits of security: primal attacks on the large keys, hybrid attacks on sparse clue secrets.

Usage: python3 reference/security.py [--scale]

Costs are those of MATZOV (2022): BKZ in dimension d with block size b takes C (d - b) calls of a
sieve of 2^(0.29614 b' + 20.388) operations, b' = b minus the dimensions for free (Ducas 2018), C =
1 / (1 - 2^-0.29614). The Hermite factor is Chen's (2013). Attacks on dense secrets: uSVP
(Alkim, Ducas, Poppelmann, Schwabe 2016, Bai-Galbraith embedding), BDD, where a last larger sieve in
dimension eta finds the short vector in a basis that is reduced less, and MATZOV's dual attack, which
guesses coordinates and tells others modulo a small number apart by a Fourier transform. The last
comes out up to 2 bits above lattice-estimator's: want 130.

Two attacks on sparse secrets guess a part of the secret. The primal hybrid reduces a lattice of the
rest, guesses by meeting in the middle and rounds (Howgrave-Graham 2007; admissibility by Son and
Cheon 2019). The dual hybrid makes short vectors of the dual lattice and tells the right guess by
the bias of their products (Espitau, Joux, Kharchenko 2020), here also with some coordinates modulo
2 by a Fourier transform (MATZOV). Memory is free. A secret in blocks, at most one 1 in each, gives
the attacker two things: a block of l positions has l + 1 values, fewer than l bits of that density
have; and the sum of a block varies less than l independent bits, which makes the lattice denser.

What lattice-estimator's `LWE.estimate` calls dual_hybrid is `lwe_dual.matzov`, which takes guessed
coordinates for Gaussian ones; for sparse secrets `lwe_dual.dual_hybrid` is the better attack, and
the one followed here. Multiples of a ring sample by X^i have the same lattice and rotated secrets,
errors and so further chances at no further reduction. lattice-estimator does not count them; the
columns "rotated" do, with 1,024 of them.

b = a s + e says as much about e as about s: a^-1 b = s + a^-1 e. Where errors are as narrow as
secrets are sparse, an attacker may guess coordinates of either, or some of each. The table takes the
least of guessing the secret alone, the errors alone, and 3 : 2 of both.

The table of the parameter sets (`SCALE`), as `omr params` prints it and `omr-protocol` checks it, is
written by

    python3 reference/security.py --scale > testdata/security/clues.json

The values of lattice-estimator (commit 27a581bb8e9d49f5e9e2db315bd48ac769d5f5f5) that the project
took its limits from are listed in KNOWN and KNOWN_SPARSE; the script says how far it is from each.
Standard library; four minutes.
"""

import itertools
import json
import math
import sys
from functools import lru_cache

A, B = 0.29613500308205365, 20.387885985467914
ROUNDS = 1 / (1 - 2**-A)
ERROR = 3.19  # the estimates' error of the large keys; ours, 3.24, is larger

TERNARY = math.sqrt(2 / 3)
SPARSE = math.sqrt(4096 / 65536)

# dimension, log2 of the modulus, standard deviation of the secret, attack, bits
KNOWN = [
    (65536, 1746, TERNARY, "bdd", 128.0),
    (65536, 1740, TERNARY, "bdd", 128.7),
    (32768, 868, TERNARY, "bdd", 128.0),
    (32768, 917, TERNARY, "bdd", 120.9),
    (65536, 1724, SPARSE, "usvp", 129.9),
    (65536, 1724, SPARSE, "bdd", 129.6),
]

# log2 of the modulus of the largest detection key
AS_PUBLISHED = [("omr1p", 857), ("perfomr1", 985), ("perfomr2", 823), ("dos-perfomr", 1107)]

CLUE = (math.log2(786433), 0.4637)  # log2 of the modulus, standard deviation of the error
SWITCH = (math.log2(16760833), 9.9)  # the largest 24-bit prime that is 1 modulo 2048
N = 1024

# weight, signs, (log2 of the modulus, error), attack, bits; dimension 1024
KNOWN_SPARSE = [
    (84, False, CLUE, "primal", 122.7),
    (104, False, CLUE, "primal", 132.3),
    (108, False, CLUE, "primal", 134.0),
    (112, False, CLUE, "primal", 135.6),
    (84, True, CLUE, "primal", 130.2),
    (96, True, (math.log2(786433), 0.5), "primal", 137.3),
    (80, True, (math.log2(786433), 0.5), "primal", 128.2),
    (68, True, (math.log2(65537), 0.3536), "primal", 131.4),
    (64, True, (math.log2(65537), 0.5), "primal", 129.8),
    (64, True, (32, 3.0), "dual", 92.1),  # its documentation's example
]


@lru_cache(None)
def log2_hermite(block):
    grow = (math.pi * block) ** (1 / block) * block / (2 * math.pi * math.e)
    return math.log2(grow) / (2 * (block - 1))


def log2_sieve(dimension):
    return A * (dimension - dimensions_for_free(dimension)) + B


def dimensions_for_free(dimension):
    free = dimension * math.log(4 / 3) / math.log(dimension / (2 * math.pi * math.e))
    return max(free, 0)


def log2_bkz(block, dimension):
    return math.log2(ROUNDS * ROUNDS * max(dimension - block, 1)) + log2_sieve(block)


def log2_tail_vector(block, tail, dimension, n, log_q, secret, error):
    """log2 of the Gram-Schmidt vector `tail` places before the end; secret scaled to the error."""
    volume = (dimension - n - 1) * log_q + n * math.log2(error / secret) + math.log2(error)
    return (2 * tail - dimension - 1) * log2_hermite(block) + volume / dimension


def best_dimension(block, n, log_q, secret, error):
    """The number of coordinates that makes the last vectors longest."""
    near = math.sqrt(n * (log_q - math.log2(error / secret)) / log2_hermite(block))
    return max(n + 2, round(near))


def least(lowest, works):
    high = lowest
    while not works(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def finds(block, tail, *instance):
    dimension = best_dimension(block, *instance)
    longest = log2_tail_vector(block, tail, dimension, *instance)
    return math.log2(tail) / 2 + math.log2(instance[-1]) <= longest


def usvp(*instance):
    block = least(64, lambda b: finds(b, b, *instance))
    return log2_bkz(block, best_dimension(block, *instance)), block


def is_shortest(block, tail, *instance):
    """Whether the secret's projection is the shortest vector of the last `tail` dimensions."""
    dimension = best_dimension(block, *instance)
    mean = log2_tail_vector(block, tail, dimension, *instance) - (tail - 1) * log2_hermite(block)
    ball = math.log2(tail / (2 * math.pi * math.e)) / 2 + math.log2(math.pi * tail) / (2 * tail)
    return math.log2(tail) / 2 + math.log2(instance[-1]) <= mean + ball


def bdd(*instance):
    _, at_most = usvp(*instance)

    def cost(block):
        tail = least(block, lambda t: is_shortest(block, t, *instance))
        reduce = log2_bkz(block, best_dimension(block, *instance))
        return log2_add(reduce, log2_bkz(tail, tail))

    return min((cost(block), block) for block in range(at_most - 32, at_most + 1))


def bits(attack, n, log_q, secret, error=ERROR):
    return {"usvp": usvp, "bdd": bdd}[attack](n, log_q, secret, error)[0]


def log2_add(a, b):
    a, b = max(a, b), min(a, b)
    return a if math.isinf(a) or math.isinf(b) else a + math.log2(1 + 2 ** (b - a))


@lru_cache(None)
def log2_binomial(n, k):
    if not 0 <= k <= n:
        return -math.inf
    return (math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)) / math.log(2)


def log2_trials(log2_success):
    """Of how many trials one succeeds in 99 % of cases."""
    success = 2**log2_success
    if success > 0.99:
        return 0
    if success < 1e-9:
        return math.log2(-math.log(0.01)) - log2_success
    return math.log2(math.ceil(math.log(0.01) / math.log1p(-success)))


def growing(classes):
    """Unions of classes (log2 size, log2 probability, ones), the likeliest values first: log2 size,
    log2 probability, mean number of ones."""
    classes = sorted(classes, key=lambda c: c[0] - c[1])
    size = probability = ones = -math.inf
    for log2_size, log2_probability, count in classes:
        size = log2_add(size, log2_size)
        probability = log2_add(probability, log2_probability)
        if count:
            ones = log2_add(ones, log2_probability + math.log2(count))
        if probability > -45:
            yield size, min(probability, 0), 2 ** (ones - probability)


def always_told_apart(guesses):
    """log2 of how many unbiased products tell the right one of 2^guesses, in 99 % of cases."""
    return 3 + math.log2(guesses * math.log(2) + 5.3)


class FixedWeight:
    """`weight` of `n` coordinates are 1, or 1 and -1. Guessed: any number of coordinates."""

    samples = N  # one ring sample's

    @staticmethod
    def log2_told_apart(guesses):
        return always_told_apart(guesses)

    def __init__(self, n, weight, signs):
        self.n, self.weight, self.signs = n, weight, signs
        self.step, self.most = 16, n * 3 // 4
        self.guesses = lru_cache(None)(self.guesses)

    def variance(self, density):
        return density if self.signs else density - density**2

    def ones(self, amount):
        return self.weight * amount / self.n

    def guesses(self, amount):
        def of_weight(t):
            size = log2_binomial(amount, t) + t * self.signs
            right = log2_binomial(self.n - self.weight, amount - t) + log2_binomial(self.weight, t)
            return size, right - log2_binomial(self.n, amount), t

        return list(growing(of_weight(t) for t in range(min(amount, self.weight) + 1)))

    def left(self, amount, ones):
        """What is not guessed, if the guess has so many ones: coordinates, log2 of the product of
        their standard deviations."""
        n = self.n - amount
        return n, n * math.log2(self.variance((self.weight - ones) / n)) / 2


class Parts(FixedWeight):
    """`count` polynomials of `n` signed coordinates, `weight` of them non-zero in each. Guessed: as
    many coordinates of each."""

    def __init__(self, count, n, weight, samples):
        super().__init__(count * n, count * weight, True)
        self.count, self.samples, self.step = count, samples, 24

    def guesses(self, amount):
        n, weight, each = self.n // self.count, self.weight // self.count, amount // self.count

        def of_weight(t):
            size = log2_binomial(each, t) + t
            right = log2_binomial(n - weight, each - t) + log2_binomial(weight, t)
            return size, right - log2_binomial(n, each)

        one = [of_weight(t) for t in range(min(each, weight) + 1)]
        classes = []
        for weights in itertools.combinations_with_replacement(range(len(one)), self.count):
            orders = math.factorial(self.count)
            for t in set(weights):
                orders //= math.factorial(weights.count(t))
            size, right = (sum(one[t][i] for t in weights) + math.log2(orders) for i in (0, 1))
            if size < 260 and right > -60:
                classes.append((size, right, sum(weights)))
        unions, last = [], -math.inf
        for union in growing(classes):
            if union[0] >= last + 0.5:
                unions.append(union)
                last = union[0]
        return unions or [(math.inf, -math.inf, 0)]


class Blocks:
    """`weight` of `blocks` blocks of `length` have one 1 (or -1) each. Guessed: `taken` positions
    of each of a number of blocks."""

    samples = N

    @staticmethod
    def log2_told_apart(guesses):
        return always_told_apart(guesses)

    def __init__(self, blocks, length, weight, signs=False, taken=None):
        self.blocks, self.length, self.weight, self.signs = blocks, length, weight, signs
        self.taken = taken or length
        self.step, self.most = 4, blocks - 8 * (self.taken == length)
        self.n = blocks * length
        self.guesses = lru_cache(None)(self.guesses)

    def variance(self, density):
        return density

    def ones(self, amount):
        return self.weight * amount * self.taken / self.n

    def guesses(self, amount):
        share = self.taken / self.length

        def probability(t):
            """Of t ones in the positions taken, by the number x of ones in those blocks."""
            total = -math.inf
            for x in range(t, amount + 1) if share < 1 else [t]:
                p = log2_binomial(amount, x) - log2_binomial(self.blocks, self.weight)
                p += log2_binomial(self.blocks - amount, self.weight - x)
                if share < 1:
                    p += log2_binomial(x, t) + t * math.log2(share) + (x - t) * math.log2(1 - share)
                total = log2_add(total, p)
            return total

        values = math.log2(self.taken << self.signs)
        sizes = [log2_binomial(amount, t) + t * values for t in range(amount + 1)]
        classes = [(size, probability(t), t) for t, size in enumerate(sizes)]
        return list(growing(c for c in classes if c[1] > -math.inf))

    def left(self, amount, ones):
        n = self.n - amount * self.taken
        density = (self.weight - ones) / n

        def rest_of_block(length):
            """Variances: in one direction that of the sum over the block's rest, else a 1's."""
            if length == 0 or self.signs:
                return length * math.log2(density)
            spread = max(density - length * density**2, density / 400)
            return (length - 1) * math.log2(density) + math.log2(spread)

        whole = (self.blocks - amount) * rest_of_block(self.length)
        return n, (whole + amount * rest_of_block(self.length - self.taken)) / 2


class Both(FixedWeight):
    """A secret of FixedWeight, with signs, and errors that are 1 or -1 with probability `density`. Of
    the coordinates guessed a share `errors` are errors'; as many of the secret take their places."""

    def __init__(self, n, weight, density, errors):
        super().__init__(n, weight, True)
        self.density, self.errors = density, errors

    def split(self, amount):
        errors = round(amount * self.errors)
        return amount - errors, errors

    def ones(self, amount):
        secrets, errors = self.split(amount)
        return secrets * self.weight / self.n + errors * self.density

    def guesses(self, amount):
        secrets, errors = self.split(amount)

        def of_secrets(t):
            right = log2_binomial(self.n - self.weight, secrets - t) + log2_binomial(self.weight, t)
            return log2_binomial(secrets, t) + t, right - log2_binomial(self.n, secrets)

        def of_errors(t):
            ways = log2_binomial(errors, t)
            return ways + t, (
                ways + t * math.log2(self.density) + (errors - t) * math.log2(1 - self.density)
            )

        most = [of_secrets(t) for t in range(min(secrets, self.weight) + 1)]
        rest = [of_errors(t) for t in range(errors + 1)]
        return list(growing(
            (size + more, right + likely, t + u)
            for t, (size, right) in enumerate(most) if size < 200
            for u, (more, likely) in enumerate(rest) if size + more < 200 and right + likely > -60
        )) or [(math.inf, -math.inf, 0)]

    def left(self, amount, ones):
        """Secrets, those that took errors' places among them."""
        secrets, errors = self.split(amount)
        if errors == amount:
            return self.n - amount, (self.n - amount) * math.log2(self.density) / 2
        known = ones * (1 - errors * self.density / self.ones(amount)) if amount else 0
        density = (self.weight - known) / (self.n - secrets)
        return self.n - amount, (self.n - amount) * math.log2(density) / 2


class Dense:
    """`n` independent coordinates of one distribution, none of it sparse: value -> probability."""

    def __init__(self, n, distribution, samples=N):
        self.n, self.step, self.most, self.samples = n, 8, n // 2, samples
        self.spread = sum(p * x * x for x, p in distribution.items())
        self.entropy = -sum(p * math.log2(p) for p in distribution.values())
        self.weight = n * (1 - distribution.get(0, 0))

    @staticmethod
    def log2_told_apart(guesses):
        """The same in half of the cases (MATZOV)."""
        tail = 2 * math.log(2) * (guesses + 2)
        return math.log2(2 * (0.674 + math.sqrt(tail - math.log(2 * math.pi * tail))) ** 2) - 1

    def variance(self, density):
        return self.spread

    def ones(self, amount):
        return self.weight * amount / self.n

    def guesses(self, amount):
        """The likelier half of the guesses."""
        return [(amount * self.entropy, -1 if amount else 0, self.ones(amount))]

    def left(self, amount, ones):
        n = self.n - amount
        return n, n * math.log2(self.spread) / 2


def narrow(s):
    """The discrete Gaussian of parameter s, without its far tail: value -> probability."""
    reach = max(40, math.ceil(10 * s))
    weights = {x: math.exp(-x * x / (2 * s * s)) for x in range(-reach, reach + 1)}
    total = sum(weights.values())
    return {x: w / total for x, w in weights.items() if w / total > 1e-12}


def spread(distribution):
    return math.sqrt(sum(p * x * x for x, p in distribution.items()))


def log2_rounded(first, slope, dimension, error):
    """log2 of the probability that a guess's half and the whole round to the same lattice point:
    Gram-Schmidt vectors of log2 length `first`, falling by `slope`."""
    total = 0
    for i in reversed(range(dimension)):
        x = 2 ** (first - slope * i) / error / math.sqrt(2)
        if x > 1e6:
            break
        admissible = math.erf(x) + math.expm1(-x) / x / math.sqrt(math.pi)
        if admissible <= 0:
            return -math.inf
        total += math.log2(admissible) + math.log2(math.erf(x / 2))
    return total


def all_trials(reduce, each, log2_success, targets):
    """A reduction serves `targets` trials."""
    if math.isinf(log2_success):
        return math.inf
    trials = log2_trials(log2_success)
    return log2_add(reduce + max(trials - math.log2(targets), 0), each + trials)


def samples(n, scaled_q, block, most):
    """The best number."""
    return max(1, min(most, math.ceil(math.sqrt(n * scaled_q / log2_hermite(block))) - n))


def primal_hybrid(secret, log_q, error, targets, block, amount, fewer):
    """Bits and the amount guessed; `fewer` samples than make the last vectors longest."""
    n, spread = secret.left(amount, secret.ones(amount))
    m = samples(n, spread / n + log_q - math.log2(error), block, secret.samples) - fewer
    dimension, slope = n + m, 2 * log2_hermite(block)
    if m < 1 or dimension < block:
        return math.inf, 0
    volume = log_q * m + n * math.log2(error) - spread
    first = volume / dimension + (dimension - 1) * slope / 2
    rounded = log2_rounded(first, slope, dimension, error)
    reduce, rounding = log2_bkz(block, dimension), 2 * math.log2(dimension)

    def cost(size, probability, _):
        return all_trials(reduce, rounding + size / 2, probability + rounded, targets)

    costs = (cost(*guess) for guess in secret.guesses(amount) if guess[0] < 260)
    return min(costs, default=math.inf), amount


def log2_short_vectors(block, dimension, log2_count):
    """Cost of so many, and the dimension of the sieve that yields them."""
    by_reduction = block - math.floor(dimensions_for_free(block))
    sieve = math.floor(by_reduction + math.log2((dimension - block) * ROUNDS) / A)
    sieve = min(dimension, sieve)
    one = log2_add(log2_bkz(block, dimension), math.log2(ROUNDS) + A * sieve + B)
    return one + max(0, log2_count - 0.2075 * sieve), sieve


def dual_hybrid(secret, log_q, error, targets, block, amount, variant):
    """Bits and the amount guessed, besides `fourier` coordinates modulo `base`."""
    fourier, base = variant
    _, sieve = log2_short_vectors(block, 2 * block, 0)
    longer = math.log2(4 / 3) / 2 + (sieve - 1) * (log2_hermite(sieve) - log2_hermite(block))

    def cost(size, probability, ones):
        n, spread = secret.left(amount, ones)
        if n < fourier + 64 or size > 125 or probability < -25:
            return math.inf
        spread, n = spread * (n - fourier) / n, n - fourier
        m = samples(n, spread / n + log_q - math.log2(error), block, secret.samples)
        dimension = n + m
        noise = (spread + n * log_q + m * math.log2(error)) / dimension - log_q
        noise += longer + dimension * log2_hermite(block)
        if noise > 4:
            return math.inf
        exponent = 4 * math.pi**2 * 4**noise
        exponent += fourier / 3 * secret.variance(secret.weight / secret.n) * (math.pi / base) ** 2
        if exponent > 500:
            return math.inf
        targets_log2 = size + fourier * math.log2(base)
        count = exponent / math.log(2) + secret.log2_told_apart(targets_log2)
        reduce, _ = log2_short_vectors(block, dimension, count)
        each = size + 1 + count
        if fourier:
            transform = 11 + math.log2(fourier) + fourier * math.log2(base)
            each = size + log2_add(math.log2(640) + count, transform)
        return all_trials(reduce, each, probability, targets)

    return min((cost(*guess) for guess in secret.guesses(amount)), default=math.inf), amount


def lowest(f, start, stop, step):
    """The least value of f on a grid that gets finer around it."""
    best = min((f(x), x) for x in range(start, stop + 1, step))
    while step > 1:
        low, high, step = max(start, best[1] - step), min(stop, best[1] + step), step // 4 or 1
        best = min([best] + [(f(x), x) for x in range(low, high + 1, step)])
    return best


HYBRIDS = {
    "primal": (primal_hybrid, (20,)),
    "dual": (dual_hybrid, ((0, 1),)),
    "fourier": (dual_hybrid, ((25, 2), (45, 2), (65, 2))),
}
# Dense secrets: any number of coordinates guessed, others modulo a small number.
MATZOV = (dual_hybrid, [(x, base) for base in (2, 3, 4, 5, 6, 8) for x in range(20, 100, 10)])


def hybrid(attack, secret, instance, targets=1):
    """Least cost over the block size and the part guessed: bits, blocks or coordinates guessed."""
    cost, variants = MATZOV if attack == "matzov" else HYBRIDS[attack]
    dense = isinstance(secret, Dense)

    def at(block, variant):
        def of(amount):
            return cost(secret, *instance, targets, block, amount, variant)

        return lowest(of, 0 if dense else 2 * secret.step, secret.most, 4 * secret.step)[0]

    start = 140 if dense or instance[0] > 30 else 220
    end = 700 if dense else 400
    return min(lowest(lambda b: at(b, v), start, end, 20)[0] for v in variants)


def weakest(attack, secrets, targets=1):
    return min(hybrid(attack, secret, instance, targets) for secret, instance in secrets)


def blocks(count, length, weight, signs=False, instance=CLUE):
    """Whole blocks guessed, all positions but one, half of them."""
    part = (length, length - 1, (length + 1) // 2)
    return [(Blocks(count, length, weight, signs, taken), instance) for taken in part]


def fixed(weight, signs):
    return [(FixedWeight(N, weight, signs), CLUE)]


UNIFORM_TERNARY = {-1: 1 / 3, 0: 1 / 3, 1: 1 / 3}
BITS = {-0.5: 1 / 2, 0.5: 1 / 2}  # subtracting the mean changes what is known, not what is secret

# name, dimension, modulus, secret, error, samples. A secret that is uniform modulo q is as good as one
# distributed like the errors, at the price of as many samples as coordinates. Of LWEmongrass's key one
# coordinate is left out; of its clue 20, for the 20 bits that its last coordinate, without error, tells.
DENSE = [
    ("pvw-as-published, key", 450, 65537, narrow(1.3), narrow(1.3), 16000 - 450),
    ("pvw-v1, key", 960, 786433, narrow(0.5), narrow(0.5), 19104 - 960),
    ("lwemongrass-as-published, key", 935, 65537, UNIFORM_TERNARY, narrow(0.5), 760),
    ("lwemongrass-as-published, clue", 760, 65537, BITS, narrow(0.5), 938),
    ("lwemongrass-v1, key", 1023, 786433, UNIFORM_TERNARY, narrow(0.5), 944),
    ("lwemongrass-v1, clue", 924, 786433, BITS, narrow(0.5), 1025),
]

# name, dimension, secret and error of one distribution, attack, bits; modulus 3329
KNOWN_DENSE = [
    ("Kyber512", 512, {x: math.comb(6, x + 3) / 64 for x in range(-3, 4)}, "usvp", 143.8),
    ("Kyber512", 512, {x: math.comb(6, x + 3) / 64 for x in range(-3, 4)}, "bdd", 140.3),
    ("Kyber768", 768, {x: math.comb(4, x + 2) / 16 for x in range(-2, 3)}, "usvp", 204.9),
    ("Kyber768", 768, {x: math.comb(4, x + 2) / 16 for x in range(-2, 3)}, "bdd", 201.0),
    ("Kyber768", 768, {x: math.comb(4, x + 2) / 16 for x in range(-2, 3)}, "matzov", 196.1),
]

# name, log2 of the modulus, weight
INTEGERS = [("perfomr2-v1", math.log2(408), 64), ("the same, weight 36", math.log2(400), 36)]

# name, secret, parameter of the errors' discrete Gaussian, modulus where it is not 786,433. A secret
# is a weight of 1,024 signed coordinates, or (blocks, length, least weight, largest weight)
SCALE = [
    ("sophomr-v2, perfomr1-v1: clue key and randomness", 84, 0.5),
    ("hybrid-v1, hybrid-strong-v1, instantomr-v1: randomness", 96, 0.5),
    ("hybrid-v1, instantomr-v1: clue key", (170, 6, 141, 149), 0.5),
    ("hybrid-strong-v1: clue key", (204, 5, 161, 167), 0.5),
    ("sophomr-v3, perfomr1-v2: clue key and randomness", 140, 0.4495),
    ("hybrid-v2, instantomr-v2: randomness", 140, 0.4775),
    ("hybrid-v2, instantomr-v2: clue key", (204, 5, 161, 167), 0.4775),
    ("not used", 120, 0.46),
    ("not used: window 39", 136, 0.447),
    ("not used", (128, 8, 106, 112), 0.4775),
    ("not used", (146, 7, 120, 128), 0.4775),
    ("not used", (170, 6, 141, 149), 0.4775),
    ("not used", (256, 4, 195, 203), 0.4775),
    ("sophomr-v4: clue key and randomness; hybrid-v3: randomness, SophOMR's clue key", 320, 0.52, 4188161),
    ("hybrid-v3: InstantOMR's clue key", (128, 8, 106, 112), 6.5, 4188161),
    ("sophomr-v5: clue key and randomness; hybrid-v4: randomness, SophOMR's clue key", 316, 0.52, 4188161),
    ("hybrid-v4: InstantOMR's clue key", (102, 10, 86, 92), 28.0, 4188161),
]

OTHERS = [
    ("weight 106", fixed(106, False)),
    ("weight 112", fixed(112, False)),
    ("128 blocks of 8, signs, weight 112", blocks(128, 8, 112, True)),
    ("170 blocks of 6, weight 141, key switch", blocks(170, 6, 141, instance=SWITCH)),
]


def signed(density):
    return {-1: density / 2, 0: 1 - density, 1: density / 2}


def narrowing(name, weight, log_q):
    secret = Parts(3, 512, weight, 4 * 13 * 512)
    return name, secret, signed(weight / 512), (log_q, 3.2404)


# name, secret, distribution of a coefficient, (log2 of the modulus, error). The packing key has 1,024
# rows and more of 512 samples each, the narrowing key 52.
PACKED = [
    ("packing: 4 x 512, 50 bits, uniform ternary", Dense(2048, UNIFORM_TERNARY, 1024 * 512),
     UNIFORM_TERNARY, (50, spread(narrow(0.62)))),
    narrowing("narrowing: 3 x 512, 29.5 bits, weight 3 x 36", 36, 29.5),
]


# name, dimension, log2 of the modulus with special primes, samples; uniform ternary secrets. The key of scans has rows
# for 4 ranks of packing, 8 groups and 2 digits; that of answers for 2 parts, 4 components and 2 digits; for queries there
# are 8 keys, and some ciphertexts a query. Keys of scans and answers have one mask for 8 secrets, which loses at most 3
# bits of advantage.
ROUNDS_KEYS = [
    ("scans: 2048, 50 bits", 2048, 50, 64 * 2048),
    ("queries and their keys: 8192, 200 bits", 8192, 32 + 32 + 36 + 2 * 50, 16 * 8192),
    ("answers: 2048, 50 bits", 2048, 50, 16 * 2048),
]


def attacked(secret, parameter, log_q):
    """What an attacker may guess, each with the instance that is left."""
    error = spread(narrow(parameter))
    instance = (log_q, error)
    if isinstance(secret, tuple):
        count, length, *weights = secret
        return [part for w in weights for part in blocks(count, length, w, instance=instance)]
    swapped = (log_q, math.sqrt(secret / N))
    return [
        (FixedWeight(N, secret, True), instance),
        (Both(N, secret, error**2, 0.4), instance),
        (Both(N, secret, error**2, 1.0), swapped),
    ]


def listed(secret, parameter, log_q):
    """Those of LWE.estimate: reduction alone, the primal hybrid, MATZOV's dual."""
    error = spread(narrow(parameter))
    count, length, weight = secret[:3] if isinstance(secret, tuple) else (N, 1, secret)
    n, density = count * length, weight / (count * length)
    signed = length == 1
    deviation = math.sqrt(density if signed else density - density**2)
    distribution = {0: 1 - density, 1: density / 2, -1: density / 2} if signed else {
        -density: 1 - density, 1 - density: density
    }
    alone = [bits(attack, n, log_q, deviation, error) for attack in ("usvp", "bdd")]
    dual = hybrid("matzov", Dense(n, distribution), (log_q, error))[0]
    if signed and error < deviation:
        # The narrower of the two is the better secret: a^-1 b = e a^-1 + s.
        exchanged = hybrid("matzov", Dense(n, narrow(parameter)), (log_q, deviation))[0]
        dual = min(dual, exchanged)
    return min(*alone, weakest("primal", attacked(secret, parameter, log_q))[0], dual)


def scale():
    """The table of the parameter sets, row by row."""
    for name, secret, parameter, *own in SCALE:
        log_q = math.log2(own[0]) if own else CLUE[0]
        parts = attacked(secret, parameter, log_q)
        dual = weakest("dual", parts)[0]
        rotated = min(weakest(attack, parts, N)[0] for attack in ("primal", "dual"))
        fourier = min(rotated, weakest("fourier", parts, N)[0])
        figures = [listed(secret, parameter, log_q), dual, rotated, fourier]
        yield name, secret, parameter, own, [round(x, 1) for x in figures]


def large_keys():
    print("    n  log2 q  secret  attack  lattice-estimator  here")
    for n, log_q, secret, attack, known in KNOWN:
        print(f"{n:5}  {log_q:6}  {secret:6.3f}  {attack:6}  {known:17.1f}  "
              f"{bits(attack, n, log_q, secret):.2f}")
    print("\nweight 4096 in dimension 65536; bdd moved to lattice-estimator's 129.6 at 1724")
    known = bits("bdd", 65536, 1724, SPARSE)
    for log_q in range(1716, 1749, 4):
        print(f"{log_q:6}  {129.6 + bits('bdd', 65536, log_q, SPARSE) - known:.2f}")
    print("\nweight 4096 in dimension 32768, of the earlier schemes as published: usvp, bdd")
    for name, log_q in AS_PUBLISHED:
        row = (bits(attack, 32768, log_q, math.sqrt(1 / 8)) for attack in ("usvp", "bdd"))
        print(f"{name:12}{log_q:6}{''.join(f'{x:8.1f}' for x in row)}")
    print("\nuniform ternary, dimension 2048, 50 bits, bdd (lattice-estimator: 128 at 0.58, all attacks)")
    for error in (0.58, 0.615):
        print(f"{error:6}  {bits('bdd', 2048, 50, TERNARY, error):.2f}")


def sparse_secrets():
    print("\nweight  signs  log2 q   error  attack  lattice-estimator    here")
    for weight, signs, instance, attack, known in KNOWN_SPARSE:
        here, _ = hybrid(attack, FixedWeight(N, weight, signs), instance)
        print(f"{weight:6}  {signs!s:5}  {instance[0]:6.2f}  {instance[1]:6.4f}  {attack:6}  "
              f"{known:17.1f}  {here:6.2f}  ({here - known:+.2f})", flush=True)
    print("\n" + 36 * " " + "guessed once           rotated")
    print(f"{'secret, n 1024':34}" + 2 * "  primal   dual  fourier")
    for name, secrets in OTHERS:
        row = [weakest(attack, secrets, t) for t in (1, N) for attack in HYBRIDS]
        cells = (f"{value:8.1f}" for value, _ in row)
        print(f"{name:34}{''.join(cells)}   guessed {row[0][1]}, {row[1][1]}", flush=True)


def print_scale():
    print(f"\n{'parameter sets':56} listed  sparse dual  rotated  with Fourier")
    for name, *_, (default, dual, rotated, fourier) in scale():
        print(f"{name:54} {default:8.1f} {dual:12.1f} {rotated:8.1f} {fourier:13.1f}", flush=True)


def packed_keys():
    """Samples of the keys that pack clues and change them to a sparse secret: all samples of a key are
    offered, and one reduction serves the 512 rotations by X^i. Of a uniform secret no part is likelier
    than another, so that the hybrids do not gain."""
    print(f"\n{'keys of packed clues':44}    usvp     bdd  matzov  primal    dual fourier"
          "   rotated:  primal    dual fourier")
    for name, secret, ternary, instance in PACKED:
        alone = [bits(attack, secret.n, instance[0], spread(ternary), instance[1])
                 for attack in ("usvp", "bdd")]
        alone.append(hybrid("matzov", Dense(secret.n, ternary, secret.samples), instance)[0])
        dense = isinstance(secret, Dense)
        attacks = ["primal"] if dense else HYBRIDS
        rows = [[hybrid(attack, secret, instance, t)[0] for attack in attacks] for t in (1, 512)]
        cells = (f"{x:8.1f}" for x in alone + rows[0])
        rotated = (f"{x:8.1f}" for x in rows[1])
        print(f"{name:44}{''.join(cells)}{' ' * (28 if dense else 12)}{''.join(rotated)}", flush=True)


def rounds_keys():
    """Secrets of retrieval in two rounds; that of packing is among the keys of packed clues."""
    print(f"\n{'two rounds, uniform ternary, error 3.19':44}    usvp     bdd  matzov")
    for name, n, log_q, samples in ROUNDS_KEYS:
        row = [bits(attack, n, log_q, TERNARY) for attack in ("usvp", "bdd")]
        row.append(hybrid("matzov", Dense(n, UNIFORM_TERNARY, samples), (log_q, ERROR))[0])
        print(f"{name:44}{''.join(f'{x:8.1f}' for x in row)}", flush=True)


def scale_json():
    rows = []
    for _, secret, parameter, own, figures in scale():
        length, least, most = secret[1:] if isinstance(secret, tuple) else (1, secret, secret)
        names = ("listed", "sparse_dual", "rotated", "fourier")
        row = {"block": length, "weight": [least, most], "sigma": parameter}
        rows.append(row | dict(zip(("modulus",), own)) | dict(zip(names, figures)))
    print(json.dumps(rows, indent=1))


def rotated_keys():
    """The large ring's keys: hybrids, also of 65,536 rotations. The primal one gains most."""
    print("\nweight 4096 in dimension 65536: guessed once, rotated")
    secret = FixedWeight(65536, 4096, True)
    secret.samples, secret.step, secret.most = 65536, 64, 2560
    # The largest keys of all sets, and of those that open clues.
    for log_q, attack in itertools.product((1736.3, 1735.7), ("primal", "dual")):
        row = (hybrid(attack, secret, (log_q, ERROR), t)[0] for t in (1, 65536))
        print(f"{log_q:8}  {attack:8}{''.join(f'{x:8.2f}' for x in row)}", flush=True)


def key_switch():
    for name, (log_q, error) in (("clue", CLUE), ("key switch", SWITCH)):
        print(f"{name:10}  error/modulus 2^{math.log2(error) - log_q:.4f}")
    print(f"least error of the key switch: {2 ** (SWITCH[0] - CLUE[0]) * CLUE[1]:.4f}")


def dense_bits(attack, n, log_q, secret, error, count):
    if attack in ("usvp", "bdd"):
        return bits(attack, n, log_q, spread(secret), spread(error))
    return hybrid(attack, Dense(n, secret, count), (log_q, spread(error)))[0]


def earlier():
    print("\nearlier schemes, dense secrets    n     usvp     bdd  primal  matzov")
    attacks = ("usvp", "bdd", "primal", "matzov")
    for name, n, q, *rest in DENSE:
        row = [dense_bits(attack, n, math.log2(q), *rest) for attack in attacks]
        print(f"{name:30} {n:5}{''.join(f'{x:8.1f}' for x in row)}", flush=True)
    print("\nlattice-estimator's documentation              here")
    for name, n, own, attack, known in KNOWN_DENSE:
        here = dense_bits(attack, n, math.log2(3329), own, own, n)
        print(f"{name} {attack:8} {known:6.1f} {here:26.1f}")
    print("\nring LWE, sparse secrets, n 1024    primal   dual  fourier")
    for name, log_q, weight in INTEGERS:
        secret, instance = FixedWeight(N, weight, True), (log_q, CLUE[1])
        row = [hybrid(attack, secret, instance)[0] for attack in HYBRIDS]
        print(f"{name:34}{''.join(f'{x:8.1f}' for x in row)}", flush=True)


def windows():
    print("\nwindow of weights kept: share of draws")
    drawn = (170, 6, 141, 149), (204, 5, 161, 167), (128, 8, 106, 112), (102, 10, 86, 92)
    for count, length, low, high in drawn:
        ways = (math.comb(count, w) * length**w for w in range(low, high + 1))
        share = sum(ways) / (length + 1) ** count
        print(f"{count} blocks of {length}: {low} to {high}: {share:.3f}")


def main():
    if sys.argv[1:] == ["--scale"]:
        return scale_json()
    large_keys()
    rotated_keys()
    packed_keys()
    rounds_keys()
    print_scale()
    sparse_secrets()
    print()
    key_switch()
    windows()
    earlier()


if __name__ == "__main__":
    main()

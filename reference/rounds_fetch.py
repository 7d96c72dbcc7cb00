"""The second round of retrieval, encrypted, from plain integers: a part of `rounds.py`.

A ciphertext is a pair of body and mask with body + mask s = m + p e modulo a product of primes, as in `bgv.py`.
"""

from math import prod

from bgv import add, center, modulo, scale
from rounds_ring import (
    DIGIT_BITS, DIGITS, RNG, error, image, interpolate, mask, monomial, multiply, nearest, primes_below, rescaled,
    root_powers, shared_key, subtract, switched, ternary,
)  # fmt: skip

P = 786433
FETCH_N, BUCKETS, CHOICES, PAGE, SYMBOLS = 64, 16, 4, 13, 5
POSITIONS = FETCH_N // BUCKETS
FINAL_N, PARTS, FINAL_MASK_BITS, FINAL_BODY_BITS = 16, 2, 29, 21
COMPONENTS = FETCH_N // FINAL_N
# Messages of each page; the last page still grows.
PAGES = [13, 13, 13, 13, 13, 8]
PSI = root_powers(P, FETCH_N)


def exponent(bucket, position):
    """psi to this power is where the value of a place is."""
    return 2 * BUCKETS * position + 2 * bucket + 1


def encoded(values):
    """The polynomial modulo p with these values, by bucket and position, and 0 at other places."""
    by_exponent = {exponent(b, x): values.get((b, x), 0) for b in range(BUCKETS) for x in range(POSITIONS)}
    assert sorted(by_exponent) == list(range(1, 2 * FETCH_N, 2))
    return interpolate(by_exponent, P)


def splits(count):
    """The nodes that a level splits, level by level: node k if its odd child k + 2^level is wanted."""
    levels = (count - 1).bit_length()
    return [[k for k in range(2**i) if k + 2**i < count] for i in range(levels)]


def row_polynomials(choices, first, count, constant):
    """X^j times the polynomial in X^POSITIONS of row j: in each bucket that chooses the row it is a constant."""
    out = [0] * FETCH_N
    for j in range(count):
        # A node that is split is doubled; row j lies in node j mod 2^level.
        doubled = sum(j % 2**i in nodes for i, nodes in enumerate(splits(count)))
        own = constant * pow(2, -doubled, P)
        chosen = {(b, x): own for b, (row, _) in enumerate(choices) if row == first + j for x in range(POSITIONS)}
        polynomial = encoded(chosen)
        assert all(x == 0 for i, x in enumerate(polynomial) if i % POSITIONS)
        out = modulo(add(out, multiply(polynomial, monomial(FETCH_N, j))), P)
    return out


def rounded_switch(a, old, new):
    """From the primes `old` to some of them: (x - d) / D with d = x modulo D and d = 0 modulo p."""
    dropped = prod(q for q in old if q not in new)
    out = []
    for x in a:
        d = P * center(x * pow(P, -1, dropped), dropped)
        assert (x - d) % dropped == 0
        out.append((x - d) // dropped % prod(new))
    return out


def encrypted(message, secret, noise, a, q):
    return modulo(subtract(add(scale(P, noise), message), multiply(a, secret)), q)


class Keys:
    def __init__(self):
        sums = primes_below(32, FETCH_N, 2)
        level = primes_below(36, FETCH_N, 1, sums)
        self.special = primes_below(50, FETCH_N, 2, sums + level)
        self.query, self.sums = sums + level, sums
        self.last_prime = primes_below(50, FINAL_N, 1)[0]
        self.seed, self.secret = RNG.randbytes(32), ternary(FETCH_N)
        s = self.secret
        self.product = self.switching(2, multiply(s, s), s)
        first, last = BUCKETS.bit_length(), FETCH_N.bit_length() - 1
        preimage = lambda level: image(s, pow(2**level + 1, -1, 2 * FETCH_N))
        self.merge = {level: self.switching(16 + level, s, preimage(level)) for level in range(first, last + 1)}
        self.finals = [ternary(FINAL_N) for _ in range(PARTS * COMPONENTS)]
        hidden = lambda part, k: {
            part * COMPONENTS + c: multiply(s, monomial(FETCH_N, k))[c::COMPONENTS] for c in range(COMPONENTS)
        }
        parts = [[hidden(part, k) for k in range(COMPONENTS)] for part in range(PARTS)]
        self.final = shared_key(self.last_prime, DIGIT_BITS, DIGITS, parts, self.finals, self.seed, 7)

    def switching(self, index, source, target):
        primes, noise = self.query + self.special, error(FETCH_N)
        a = mask(primes, FETCH_N, self.seed, [index, 0])
        message = scale(prod(self.special), source)
        # The gadget is 0 modulo the special primes.
        body = encrypted(message, target, noise, a, prod(primes))
        return {"index": index, "errors": noise, "pair": [body, a]}

    def raised(self, c, key, primes):
        """The product with a key over `primes` and the special primes that it still has."""
        if primes == self.query:
            special, pair = self.special, key["pair"]
        else:
            # With one special prime for fewer primes: rows modulo the others go, and their product divides.
            special, old = self.special[:1], primes + self.special
            rows = [modulo(x, prod(old)) for x in key["pair"]]
            pair = [rounded_switch(x, old, primes + special) for x in rows]
        centred = [center(x, prod(primes)) for x in c]
        return special, [multiply(centred, x) for x in pair]

    def turned(self, ct, level, primes):
        special, total = self.raised(ct[1], self.merge[level], primes)
        total[0] = add(total[0], scale(prod(special), ct[0]))
        old = primes + special
        down = [rounded_switch(modulo(x, prod(old)), old, primes) for x in total]
        return [image(x, 2**level + 1) for x in down]

    def multiplied(self, a, b):
        """Relinearised and one level down."""
        middle = add(multiply(a[0], b[1]), multiply(a[1], b[0]))
        whole = prod(self.query)
        tensor = [modulo(x, whole) for x in (multiply(a[0], b[0]), middle, multiply(a[1], b[1]))]
        special, total = self.raised(tensor[2], self.product, self.query)
        old = self.query + special
        lifted = [add(x, scale(prod(special), part)) for x, part in zip(total, tensor)]
        return [rounded_switch(modulo(x, prod(old)), old, self.sums) for x in lifted]


def expanded(keys, ct, count):
    """One ciphertext for each of the first coefficients, times a power of two."""
    nodes, whole = {0: ct}, prod(keys.query)
    for i, split in enumerate(splits(count)):
        for k in split:
            turned = keys.turned(nodes[k], FETCH_N.bit_length() - 1 - i, keys.query)
            odd = [multiply(subtract(x, y), monomial(FETCH_N, -(2**i))) for x, y in zip(nodes[k], turned)]
            nodes[k + 2**i] = [modulo(x, whole) for x in odd]
            nodes[k] = [modulo(add(x, y), whole) for x, y in zip(nodes[k], turned)]
    return [nodes[k] for k in range(count)]


def merged(keys, parts):
    """Symbols of a ciphertext: those of even and of odd numbers first, then both together."""
    if len(parts) == 1:
        return parts[0]
    even, odd = merged(keys, parts[::2]), merged(keys, parts[1::2])
    if even is None:
        return None
    level, whole = (2 * BUCKETS * len(parts)).bit_length() - 2, prod(keys.sums)
    shift = monomial(FETCH_N, FETCH_N >> level)
    odd = [multiply(x, shift) for x in odd] if odd else [[0] * FETCH_N] * 2
    difference = [modulo(subtract(x, y), whole) for x, y in zip(even, odd)]
    turned = keys.turned(difference, level, keys.sums)
    return [modulo(add(add(x, y), z), whole) for x, y, z in zip(even, odd, turned)]


def finished(keys, packed, shown):
    """The shared mask and the bodies of packed ciphertexts, rounded: of each only the coefficients `shown`."""
    q, masks, bodies = keys.sums[0], [], []
    for ct in packed:
        down = [scale(pow(P, -1, q), rounded_switch(x, keys.sums, [q])) for x in ct]
        fine = rescaled(modulo(down[1], q), q, 2 ** (DIGIT_BITS * DIGITS))
        masks += [fine[k::COMPONENTS] for k in range(COMPONENTS)]
        body = rescaled(modulo(down[0], q), q, keys.last_prime)
        bodies += [body[c::COMPONENTS] for c in range(COMPONENTS)]
    total = switched(keys.final, masks, keys.last_prime, DIGIT_BITS, DIGITS, len(bodies))
    sums = [modulo(add(x, y), keys.last_prime) for x, y in zip(total[1:], bodies)]
    rounded = [rescaled(x, keys.last_prime, 2**FINAL_BODY_BITS) for x in sums]
    return {
        "mask": rescaled(total[0], keys.last_prime, 2**FINAL_MASK_BITS),
        "parts": [
            [rounded[part * COMPONENTS + at % COMPONENTS][at // COMPONENTS] for at in kept]
            for part, kept in enumerate(shown)
        ],
    }


def read(keys, answer, shown):
    """The symbols of each bucket."""
    coefficients, steps = {}, 2**FINAL_MASK_BITS
    for part, (own, kept) in enumerate(zip(answer["parts"], shown)):
        for body, at in zip(own, kept):
            secret = keys.finals[part * COMPONENTS + at % COMPONENTS]
            phase = multiply(answer["mask"], secret)[at // COMPONENTS] + (body << FINAL_MASK_BITS - FINAL_BODY_BITS)
            coefficients[part, at] = nearest(phase % steps, P, steps) % P
    out = []
    for bucket in range(BUCKETS):
        value = lambda part, k: sum(
            coefficients[part, POSITIONS * i + k] * PSI[POSITIONS * (2 * bucket + 1) * i % (2 * FETCH_N)]
            for i in range(BUCKETS)
        )
        out.append([value(*divmod(symbol, POSITIONS)) % P for symbol in range(SYMBOLS)])
    return out

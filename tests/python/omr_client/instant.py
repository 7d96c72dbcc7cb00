"""InstantOMR digests of payloads, from bytes to messages (docs/wire.md, sections 15 and 17)."""

import struct

from blake3 import blake3

from .clues import multiply
from .digests import Found, Header, Overflow, digest_secrets
from .frames import DIGEST, read_frame
from .payloads import checksum_word, payload_of, payload_symbols
from .sets import SETS
from .streams import Stream, derive, unpack

INSTANTOMR = 3
# The field GF(97^3), its elements c_0 + c_1 y + c_2 y^2 with y^3 + y + 7 = 0, and the order of y.
P = 97
ORDER = P**3 - 1
SIDE = 956
ROUNDS = 10
MASK_BITS, BODY_BITS, PARTS = 15, 10, 10
CHECKSUM_DIGITS = 6
# Messages that share a counter; also the largest bound of Newton's identities, which divide by up to as much.
TOGETHER = 96


def powers_of_y():
    """`y^e` for every `e`, as the number `c_0 + 97 c_1 + 97^2 c_2`."""
    out, (c0, c1, c2) = [], (1, 0, 0)
    for _ in range(ORDER):
        out.append(c0 + P * c1 + P * P * c2)
        # y^3 = -y - 7
        c0, c1, c2 = -7 * c2 % P, (c0 - c2) % P, c1
    return out


class Field:
    """Arithmetic by logarithms; elements are numbers as `powers_of_y` gives them."""

    def __init__(self):
        self.power = powers_of_y()
        self.log = [0] * P**3
        for exponent, element in enumerate(self.power):
            self.log[element] = exponent
        assert len(set(self.power)) == ORDER

    def times(self, a, b):
        return self.power[(self.log[a] + self.log[b]) % ORDER] if a and b else 0

    def inverse(self, a):
        return self.power[-self.log[a] % ORDER]

    @staticmethod
    def digits(a):
        return a % P, a // P % P, a // P // P

    def plus(self, a, b, scale=1):
        """`a + scale b` with a number `scale` modulo 97."""
        pairs = zip(self.digits(a), self.digits(b))
        return sum((x + scale * y) % P * P**i for i, (x, y) in enumerate(pairs))

    def sum(self, elements):
        """Their sum."""
        total = 0
        for element in elements:
            total = self.plus(total, element)
        return total


class GroupCode:
    """Nodes and factors of the messages of a group."""

    def __init__(self, field, seed, group):
        self.field = field
        key = b"".join(word.to_bytes(8, "little") for word in Stream("omr instant code v1", seed, (group,)).words(4))
        words = blake3(key, derive_key_context="omr cubic permutation v1").digest(length=8 * ROUNDS * SIDE)
        self.table = [SIDE * word >> 64 for word in struct.unpack(f"<{ROUNDS * SIDE}Q", words)]
        self.units = derive("omr cubic units v1", key)

    def exponent(self, i):
        """`pi(i)`."""
        while True:
            left, right = divmod(i, SIDE)
            for t in range(ROUNDS):
                left, right = right, (left + self.table[SIDE * t + right]) % SIDE
            i = SIDE * left + right
            if i < ORDER:
                return i

    def plain(self, i, symbols):
        """The symbols of message `i` without their factors."""
        stream = blake3(struct.pack("<Q", i), key=self.units).digest(length=8 * len(symbols))
        exponents = [ORDER * word >> 64 for word in struct.unpack(f"<{len(symbols)}Q", stream)]
        return [self.field.times(v, self.field.power[-e % ORDER]) for v, e in zip(symbols, exponents)]


def elements_of(header):
    """Symbols of a message: payload and mark, three digits an element, and two elements of the checksum."""
    return -(-payload_symbols(P, header.payload_bytes, header.marked) // 3) + CHECKSUM_DIGITS // 3


def powers_of(k):
    """How many power sums of the nodes a group has."""
    return k if k <= TOGETHER else 2 * k


def decrypt(of, header, groups, secret, data):
    """The sums of every group, of so many messages each."""
    n, k = of.rotation, header.bound
    plain = 1 + 3 * powers_of(k) + 3 * k * elements_of(header)
    counts = [plain + -(-messages // TOGETHER) for messages in groups]
    zs = digest_secrets("omr instant digest secret v1", secret.digest_seed, n, PARTS)
    sizes = [min(n, count - at) for count in counts for at in range(0, count, n)]
    sums, at = [], 0
    for first in range(0, len(sizes), PARTS):
        size = (MASK_BITS * n + 7) // 8
        mask, at = unpack(MASK_BITS, n, data[at : at + size]), at + size
        for t, kept in enumerate(sizes[first : first + PARTS]):
            size = (BODY_BITS * kept + 7) // 8
            body, at = unpack(BODY_BITS, kept, data[at : at + size]), at + size
            v = (multiply(mask, zs[t])[:kept] + (body << 5)) % (1 << MASK_BITS)
            sums += (((P * v + (1 << 14)) >> 15) % P).tolist()
    if at != len(data):
        raise ValueError(f"expected {at} bytes of ciphertexts, found {len(data)}")
    ends = [sum(counts[: g + 1]) for g in range(len(counts))]
    return [sums[end - count : end] for end, count in zip(ends, counts)]


def recurrence(field, powers):
    """The same by the shortest recurrence that the power sums obey (Berlekamp and Massey): its polynomial is that of
    the nodes read backwards."""
    current, last, length, shift, scale = [1], [1], 0, 1, 1
    for t in range(len(powers)):
        gap = powers[t]
        for i in range(1, min(length, len(current) - 1) + 1):
            gap = field.plus(gap, field.times(current[i], powers[t - i]))
        if not gap:
            shift += 1
            continue
        factor = field.times(gap, field.inverse(scale))
        longer = current + [0] * max(0, len(last) + shift - len(current))
        for i, c in enumerate(last):
            longer[i + shift] = field.plus(longer[i + shift], field.times(factor, c), -1)
        if 2 * length <= t:
            last, length, shift, scale = current, t + 1 - length, 1, gap
        else:
            shift += 1
        current = longer
    return (current + [0] * (length + 1))[: length + 1]


def polynomial(field, powers, count):
    """The coefficients of the polynomial whose roots are the nodes, by Newton's identities; the highest first."""
    elementary = [1]
    for k in range(1, count + 1):
        total = 0
        for i in range(1, k + 1):
            total = field.plus(total, field.times(elementary[k - i], powers[i]), (-1) ** (i - 1))
        elementary.append(field.plus(0, total, pow(k, -1, P)))
    return [field.plus(0, e, (-1) ** k) for k, e in enumerate(elementary)]


def evaluate(field, coefficients, x):
    """Horner's rule."""
    value = 0
    for c in coefficients:
        value = field.plus(field.times(value, x), c)
    return value


def solve(field, nodes, rows):
    """`v` with `sum of x^t v = rows[t - 1]` for every `t` from 1 on, many right sides at once."""
    count = len(nodes)
    power = lambda x, t: field.power[field.log[x] * t % ORDER]
    table = [[power(x, t) for x in nodes] + rows[t - 1] for t in range(1, count + 1)]
    for i in range(count):
        pivot = next(r for r in range(i, count) if table[r][i])
        table[i], table[pivot] = table[pivot], table[i]
        inverse = field.inverse(table[i][i])
        table[i] = [field.times(value, inverse) for value in table[i]]
        for r in range(count):
            if r != i and table[r][i]:
                factor = table[r][i]
                table[r] = [field.plus(x, field.times(factor, y), -1) for x, y in zip(table[r], table[i])]
    values = [row[count:] for row in table]
    for t, expected in enumerate(rows, start=1):
        for j, right in enumerate(expected):
            total = 0
            for x, v in zip(nodes, values):
                total = field.plus(total, field.times(power(x, t), v[j]))
            if total != right:
                raise ValueError("the sums contradict each other")
    return values


def read_group(field, code, header, first, messages, sums):
    """The pertinent messages of a group."""
    k, s = header.bound, elements_of(header)
    r = powers_of(k)
    element = lambda at, step: sums[at] + P * sums[at + step] + P * P * sums[at + 2 * step]
    powers = [None] + [element(1 + 3 * t, 1) for t in range(r)]
    # Exact counters stand behind the sums.
    count = sum(sums[1 + 3 * r + 3 * k * s :])
    if count % P != sums[0]:
        raise ValueError("the counters contradict the first sum")
    if count > k:
        raise Overflow(f"{count} messages, {k} fit")
    coefficients = polynomial(field, powers, count) if k <= TOGETHER else recurrence(field, powers[1:])
    nodes = {i: field.power[code.exponent(i)] for i in range(messages)}
    places = [i for i, x in nodes.items() if evaluate(field, coefficients, x) == 0]
    again = lambda t: field.sum(field.power[field.log[nodes[i]] * t % ORDER] for i in places)
    if len(places) != count or any(again(t) != powers[t] for t in range(1, r + 1)):
        raise ValueError("the sums contradict each other")
    start = 1 + 3 * r
    rows = [[powers[t + 1]] + [element(start + 3 * s * t + j, s) for j in range(s)] for t in range(k)]
    found = []
    # The first right side is the sum of the nodes' powers themselves: its solution is 1.
    for i, (one, *symbols) in zip(places, solve(field, [nodes[i] for i in places], rows)):
        digits = [digit for symbol in code.plain(i, symbols) for digit in field.digits(symbol)]
        size = payload_symbols(P, header.payload_bytes, header.marked)
        payload, mark = payload_of(P, digits[:size], header.payload_bytes, header.marked)
        word = checksum_word(first + i, payload)
        expected = [word // P**d % P for d in range(CHECKSUM_DIGITS)]
        if one != 1 or any(digits[size:-CHECKSUM_DIGITS]) or digits[-CHECKSUM_DIGITS:] != expected:
            raise ValueError("a message's checksum is wrong")
        found.append(Found(first + i, payload, mark, header.seed))
    return found


def read_messages(data, secret):
    """Header and pertinent messages of an InstantOMR digest's file."""
    name, key_id, body = read_frame(data, DIGEST)
    header, of = Header.read(body), SETS[name]
    own = Stream("omr instant key id v1", secret.digest_seed).words(2)
    key_fits = of == secret.set and key_id == b"".join(word.to_bytes(8, "little") for word in own)
    if header.scheme != INSTANTOMR or not key_fits:
        raise ValueError(f"not an InstantOMR digest of payloads for this secret: scheme {header.scheme}, {name}")
    field, found = Field(), []
    firsts = range(header.start, header.end, of.group) or [header.start]
    groups = [min(of.group, header.end - first) for first in firsts]
    for g, sums in enumerate(decrypt(of, header, groups, secret, body[74:])):
        code = GroupCode(field, header.seed, g)
        found += read_group(field, code, header, firsts[g], groups[g], sums)
    return header, found

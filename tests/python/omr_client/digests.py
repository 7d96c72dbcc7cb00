"""SophOMR digests of payloads, from bytes to messages (docs/wire.md, sections 12 to 14)."""

import struct
from dataclasses import dataclass

import numpy

from . import sealing
from .clues import SEED_BYTES, BoundSender, multiply
from .frames import DIGEST, read_frame
from .payloads import checksum_word, payload_of, payload_symbols
from .sets import P
from .sets import SETS
from .streams import Stream, unpack

GENERATOR = 10
SOPHOMR = 1
# Section 13: bits of a mask's coefficients, of a body's, parts of a ciphertext.
MASK_BITS, BODY_BITS, PARTS = 29, 21, 2


class Overflow(Exception):
    """More messages than the digest can carry."""


@dataclass
class Header:
    """The first 74 bytes."""

    scheme: int
    marked: bool
    board_id: bytes
    start: int
    end: int
    bound: int
    payload_bytes: int
    sealing: str
    seed: bytes

    @classmethod
    def read(cls, body):
        """That of a digest's body."""
        scheme, board, start, end, bound, size, tag, seed = struct.unpack_from("<B16sQQIIB32s", body)
        return cls(scheme & 127, scheme > 127, board, start, end, bound, size, sealing.TAGS[tag], seed)


@dataclass
class Found:
    """A pertinent message."""

    index: int
    payload: bytes
    mark: int | None
    # The seed of the mark.
    seed: bytes


class Sums:
    """How sums of every group lie in ciphertexts: section 13."""

    def __init__(self, of, groups, bound, symbols):
        self.groups, self.bound, self.symbols = groups, bound, symbols
        self.width = min(64, max(16, 1 << (bound - 1).bit_length()))
        self.stride = of.small // self.width
        self.ratio = of.small // of.final
        exponents, symbols = range(bound), range(symbols)
        rounds = [exponents[i : i + self.width] for i in exponents[:: self.width]]
        sets = [symbols[i : i + self.stride] for i in symbols[:: self.stride]]
        self.parts = [(g, e, s) for g in range(groups) for e in rounds for s in sets]


class Shape(Sums):
    """What follows from header and set."""

    def __init__(self, of, header):
        self.n, self.group_batches = of.large, (P - 1) // of.large
        batches = -(-(header.end - header.start) // self.n)
        symbols = 4 + payload_symbols(P, header.payload_bytes, header.marked)
        super().__init__(of, -(-batches // self.group_batches), header.bound, symbols)


def digest_secrets(domain, seed, dimension, count):
    """`z_0, z_1, ..`: section 6. Without a count, the one secret that has no number."""
    indices = [()] if count is None else [(i,) for i in range(count)]
    streams = (Stream(domain, seed, index) for index in indices)
    return [[(3 * word >> 64) - 1 for word in stream.words(dimension)] for stream in streams]


def decrypt(of, shape, domain, secret, data, body_bits=BODY_BITS):
    """`sum[symbol][exponent]` of every group."""
    zs = digest_secrets(domain, secret.digest_seed, of.final, PARTS * shape.ratio)
    sums = [[[0] * shape.bound for _ in range(shape.symbols)] for _ in range(shape.groups)]
    at = 0

    def take(width, count):
        nonlocal at
        size = (width * count + 7) // 8
        at += size
        return unpack(width, count, data[at - size : at])

    for first in range(0, len(shape.parts), PARTS):
        mask = take(MASK_BITS, of.final)
        products = {}
        for t, (group, exponents, symbols) in enumerate(shape.parts[first : first + PARTS]):
            values = iter(take(body_bits, len(exponents) * len(symbols)).tolist())
            for j, exponent in enumerate(exponents):
                for i, symbol in enumerate(symbols):
                    coefficient, component = divmod(j * shape.stride + i, shape.ratio)
                    z = t * shape.ratio + component
                    if z not in products:
                        products[z] = multiply(mask, zs[z]).tolist()
                    v = (products[z][coefficient] + (next(values) << MASK_BITS - body_bits)) % (1 << MASK_BITS)
                    sums[group][symbol][exponent] = ((P * v + (1 << 28)) >> 29) % P
    if at != len(data):
        raise ValueError(f"expected {at} bytes of ciphertexts, found {len(data)}")
    return sums


def locate(sums, bound):
    """The nodes of a group's pertinent messages, from the sums of its first two symbols."""
    powers = [*sums[0], sums[1][bound - 1]]
    if sums[0][1:] != sums[1][: bound - 1]:
        raise ValueError("the sums contradict each other")
    count = powers[0]
    if count > bound:
        raise Overflow(f"{count} messages, {bound} fit")
    # Newton's identities: k e_k = sum of (-1)^(i - 1) e_(k - i) p_i.
    elementary = [1]
    for k in range(1, count + 1):
        total = sum((-1) ** (i - 1) * elementary[k - i] * powers[i] for i in range(1, k + 1))
        elementary.append(total * pow(k, -1, P) % P)
    # Every number that is not 0 is a candidate.
    points = numpy.arange(1, P, dtype=numpy.int64)
    value = numpy.ones_like(points)
    for k in range(1, count + 1):
        value = (value * points + (-1) ** k * elementary[k]) % P
    roots = points[value == 0].tolist()
    again = [sum(pow(x, e, P) for x in roots) % P for e in range(bound + 1)]
    if len(roots) != count or again != powers:
        raise ValueError("the sums contradict each other")
    return roots


def solve(roots, sums):
    """`v` with `sum of x^e v = sums[e]` for every `e`."""
    count = len(roots)
    rows = [[pow(x, e, P) for x in roots] + [sums[e]] for e in range(count)]
    for i in range(count):
        pivot = next(r for r in range(i, count) if rows[r][i])
        rows[i], rows[pivot] = rows[pivot], rows[i]
        inverse = pow(rows[i][i], -1, P)
        rows[i] = [value * inverse % P for value in rows[i]]
        for r in range(count):
            if r != i and rows[r][i]:
                rows[r] = [(x - rows[r][i] * y) % P for x, y in zip(rows[r], rows[i])]
    values = [row[count] for row in rows]
    for e, expected in enumerate(sums):
        if sum(pow(x, e, P) * v for x, v in zip(roots, values)) % P != expected:
            raise ValueError("the sums contradict each other")
    return values


def placement(seed, batch, n):
    """`slot[i]` of every message of a batch."""
    stream = Stream("omr placement v1", seed, (batch,))
    slot = list(range(n))
    for i in range(n - 1, 0, -1):
        while True:
            product = stream.words(1, size=4)[0] * (i + 1)
            if product % (1 << 32) >= (1 << 32) % (i + 1):
                break
        j = product >> 32
        slot[i], slot[j] = slot[j], slot[i]
    return slot


def logarithms(values):
    """The discrete logarithm of each value to the base of the generator."""
    wanted, found, power = set(values), {}, 1
    for exponent in range(P - 1):
        if power in wanted:
            found[power] = exponent
        power = power * GENERATOR % P
    return found


def read_messages(data, secret):
    """Header and pertinent messages of a SophOMR digest's file, as the detector found them."""
    name, key_id, body = read_frame(data, DIGEST)
    header, of = Header.read(body), SETS[name]
    if header.scheme != SOPHOMR or of != secret.set or key_id != secret.detection_key_id:
        raise ValueError(f"not a SophOMR digest of payloads for this secret: scheme {header.scheme}, {name}")
    shape = Shape(of, header)
    found = []
    for group, sums in enumerate(decrypt(of, shape, "omr digest secret v1", secret, body[74:])):
        roots = locate(sums, header.bound)
        places = logarithms(roots)
        # values[j][m]: symbol j of the payload and its checksum, message m.
        values = [solve(roots, row) for row in sums[2:]]
        for m, x in enumerate(roots):
            slot, batch = divmod(places[x], shape.group_batches)
            batch += group * shape.group_batches
            inside = placement(header.seed, batch, shape.n).index(slot)
            index = header.start + batch * shape.n + inside
            symbols = [row[m] for row in values]
            payload, mark = payload_of(P, symbols[:-2], header.payload_bytes, header.marked)
            word = checksum_word(index, payload)
            if index >= header.end or [word % P, word // P % P] != symbols[-2:]:
                raise ValueError("a message's checksum is wrong")
            found.append(Found(index, payload, mark, header.seed))
    return header, sorted(found, key=lambda message: message.index)


def read_letters(data, secret, read=read_messages):
    """Indices and parts of all honest messages of a digest; others are left out without a sign (step 5)."""
    header, messages = read(data, secret)
    return open_messages(header, messages, secret)


def open_messages(header, messages, secret):
    """Indices and parts of all honest messages among those that a detector found."""
    if header.sealing != "hpke-x25519" or header.marked != (secret.beta is not None):
        raise ValueError("not a digest of sealed payloads and of the clues that the secret is for")
    key = sealing.recipient_key(secret.sealing_seed)
    aad = sealing.additional_data(header.board_id, secret.set.name)
    opened = ((message, sealing.unseal(key, aad, message.payload)) for message in messages)
    opened = [(message, plaintext) for message, plaintext in opened if plaintext is not None]
    if not header.marked:
        return [(message.index, plaintext) for message, plaintext in opened]
    sender = BoundSender(secret.set, secret.address_seed, secret.beta, header.board_id)
    letters = []
    for message, plaintext in opened:
        seed, part = plaintext[:SEED_BYTES], plaintext[SEED_BYTES:]
        if sender.fingerprint(seed, message.payload, message.seed) == message.mark:
            letters.append((message.index, part))
    return letters

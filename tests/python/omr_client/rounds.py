"""Retrieval in two rounds, from scans to messages (docs/wire.md, section 22)."""

import os
import secrets
import struct
from dataclasses import dataclass

from blake3 import blake3

from . import sealing
from .clues import multiply
from .digests import Found, Sums, decrypt, digest_secrets
from .frames import ANSWER, QUERY, SCAN, read_frame, write_frame
from .payloads import checksum_word, payload_of, payload_symbols
from .sets import P, SETS
from .streams import Stream, pack, unpack

# Of a scan: groups of a section, blocks of a group; by coordinate, bits of masks and bodies, and limits.
GROUPS, BLOCKS = 8, 4
MASK_BITS, BODY_BITS, LIMITS = (22, 16), (15, 9), (167, 122)
CHOICES = 4
# Bits of an answer's bodies, and the rows from which on there are more.
ANSWER_BITS, SHORT = (21, 23), 72
COINS = 21


@dataclass
class Header:
    """What scans and queries begin with."""

    set: object
    key_id: bytes
    board_id: bytes
    start: int
    end: int
    payload_bytes: int
    sealing: str
    marked: bool
    seeds: list

    @classmethod
    def read(cls, name, key_id, body):
        """The header of a body, and the bytes behind it."""
        board, start, end, size, tag, clues = struct.unpack_from("<16sQQIBB", body)
        header = cls(SETS[name], key_id, board, start, end, size, sealing.TAGS[tag], clues == 2, [])
        seeds = 38 + 32 * len(header.pages)
        header.seeds = [body[at : at + 32] for at in range(38, seeds, 32)]
        return header, body[seeds:]

    def bytes(self):
        """The header as a body has it."""
        tag = {name: tag for tag, name in sealing.TAGS.items()}[self.sealing]
        numbers = self.start, self.end, self.payload_bytes, tag, 2 if self.marked else 1
        return struct.pack("<16sQQIBB", self.board_id, *numbers) + b"".join(self.seeds)

    @property
    def pages(self):
        """The pages with messages of the range."""
        return range(self.start // self.set.page, -(-self.end // self.set.page))

    @property
    def symbols(self):
        """Symbols of a message: payload, mark, checksum."""
        return payload_symbols(P, self.payload_bytes, self.marked) + 2

    def seed(self, index):
        """The seed of a message's page."""
        return self.seeds[index // self.set.page - self.pages.start]


def key_id(secret):
    """The name of the detector's key."""
    return bytes(Stream("omr rounds key id v1", secret.digest_seed).words(16, size=1))


def read_own(data, kind, secret):
    """Name of the set, name of the key and body of a file of this kind."""
    name, key, body = read_frame(data, kind)
    if SETS[name] != secret.set or key != key_id(secret):
        raise ValueError("the file is for another recipient")
    return name, key, body


def read(data, kind, secret):
    """Header and rest of a scan or a query."""
    header, rest = Header.read(*read_own(data, kind, secret))
    if header.marked != (secret.beta is not None):
        raise ValueError("the file is about another kind of clues")
    return header, rest


# Scans


@dataclass
class Scan:
    """What a scan says: the indices of the recipient's messages, and of a short range the messages."""

    header: Header
    indices: list
    messages: list | None


def read_scan(data, secret):
    """The scan of a file."""
    header, rest = read(data, SCAN, secret)
    ring, block = header.set.scan, header.set.block
    zs = digest_secrets("omr scan secret v1", secret.digest_seed, ring, GROUPS)
    section, found, at = GROUPS * ring, [], 0

    def take(width):
        nonlocal at
        size = (width * ring + 7) // 8
        at += size
        return unpack(width, ring, rest[at - size : at])

    for first in range(header.start // section * section, header.end, section):
        inside = range(max(header.start, first) - first, min(header.end, first + section) - first)
        groups = range(inside.start // ring, -(-inside.stop // ring))
        near = {group: True for group in groups}
        for mask_bits, body_bits, limit in zip(MASK_BITS, BODY_BITS, LIMITS):
            mask = take(mask_bits)
            for group in groups:
                distance = (take(body_bits) << (mask_bits - body_bits)) + multiply(mask, zs[group])
                half = 1 << (mask_bits - 1)
                distance = (distance + half) % (2 * half) - half
                near[group] = near[group] & (abs(distance) <= limit)
        for group in groups:
            for coefficient in near[group].nonzero()[0].tolist():
                # Coefficient 4 y + i is message y of block i.
                y, i = divmod(coefficient, BLOCKS)
                found.append(first + group * ring + i * block + y)
    indices = sorted(index for index in found if header.start <= index < header.end)
    return Scan(header, indices, read_payloads(header, indices, rest[at:]))


def read_payloads(header, indices, rest):
    """The messages of a short range; None where there are no payloads."""
    count, size = header.end - header.start, header.payload_bytes
    if count > header.set.block:
        if rest:
            raise ValueError("bytes behind a scan")
        return None
    if len(rest) != count * (size + 4 * header.marked):
        raise ValueError("not the payloads of the range")
    messages = []
    for index in indices:
        i = index - header.start
        mark = struct.unpack_from("<I", rest, count * size + 4 * i)[0] if header.marked else None
        messages.append(Found(index, rest[size * i : size * (i + 1)], mark, header.seed(index)))
    return messages


# What seeds determine


def places(seed, page, messages, buckets, positions):
    """For each message of a page its buckets and its positions there."""
    stream, used, out = Stream("omr fetch places v1", seed, (page,)), [0] * buckets, []
    for _ in range(messages):
        own = []
        while len(own) < CHOICES:
            bucket = stream.words(1, size=1)[0] % buckets
            if used[bucket] < positions and bucket not in [taken for taken, _ in own]:
                own.append((bucket, used[bucket]))
        for bucket, _ in own:
            used[bucket] += 1
        out.append(own)
    return out


def units(seed, page, messages):
    """The units of a page's messages."""
    stream, out = Stream("omr fetch units v1", seed, (page,)), []
    while len(out) < messages:
        word = stream.words(1, size=4)[0]
        if word < (1 << 32) // (P - 1) * (P - 1):
            out.append(word % (P - 1) + 1)
    return out


# Rings


def root(n, q):
    """psi: section 22."""
    return next(psi for x in range(2, q) if pow(psi := pow(x, (q - 1) // (2 * n), q), n, q) == q - 1)


def fourier(a, omega, q):
    """The sums of `a_i omega^(i k)` for every `k`."""
    if len(a) == 1:
        return a
    even, odd = (fourier(a[i::2], omega * omega % q, q) for i in (0, 1))
    out, power = [0] * len(a), 1
    for k, (x, y) in enumerate(zip(even, odd)):
        out[k], out[k + len(even)] = (x + power * y) % q, (x - power * y) % q
        power = power * omega % q
    return out


def values(a, psi, q):
    """`a(psi^(2 k + 1))` for every `k`."""
    return fourier([x * pow(psi, i, q) % q for i, x in enumerate(a)], psi * psi % q, q)


def polynomial(at, psi, q):
    """The polynomial with these values."""
    n = len(at)
    sums = fourier(list(at), pow(psi, -2, q), q)
    return [x * pow(psi, -i, q) * pow(n, -1, q) % q for i, x in enumerate(sums)]


def reverse_bits(a):
    """Entry `j` of the result is entry `brv(j)` of a list."""
    bits = len(a).bit_length() - 1
    return [a[int(f"{j:0{bits}b}"[::-1], 2)] for j in range(len(a))]


def is_prime(q):
    """Miller and Rabin's test with bases that decide it below 2^64."""
    odd, twos = q - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        power = pow(base, odd, q)
        if power != 1 and all(pow(power, 1 << i, q) != q - 1 for i in range(twos)):
            return False
    return True


def query_primes(n):
    """Two below 2^32 and one below 2^36."""
    primes = []
    for bits in (32, 32, 36):
        q = (1 << bits) - 2 * n + 1
        while q in primes or not is_prime(q):
            q -= 2 * n
        primes.append(q)
    return primes


# Queries


def assign(choices):
    """A message for each bucket, by augmenting paths; earlier messages keep theirs."""
    owners = {}

    def place(message, visited):
        for bucket in choices[message]:
            if bucket not in visited:
                visited.add(bucket)
                if bucket not in owners or place(owners[bucket], visited):
                    owners[bucket] = message
                    return True
        return False

    for message in choices:
        place(message, set())
    return owners


def write_query(header, secret, wanted):
    """The file of a query for messages of a scan, and the message that each bucket is asked for, if it is one."""
    of = header.set
    n, buckets, rows = of.small, of.buckets, len(header.pages)
    positions = n // buckets
    found = {
        index: places(header.seed(index), index // of.page, of.page, buckets, positions)[index % of.page]
        for index in wanted[: of.fetched]
    }
    asked = assign({index: [bucket for bucket, _ in own] for index, own in found.items()})
    choices = [(secrets.randbelow(rows), secrets.randbelow(positions)) for _ in range(buckets)]
    for bucket, index in asked.items():
        choices[bucket] = (index // of.page - header.pages.start, dict(found[index])[bucket])
    primes, psi = query_primes(n), root(n, P)
    s = digest_secrets("omr query secret v1", secret.digest_seed, n, None)[0]
    at = [int(choices[e % (2 * buckets) // 2][1] == e // (2 * buckets)) for e in range(1, 2 * n, 2)]
    messages = [polynomial(at, psi, P)]
    whole = primes[0] * primes[1] * primes[2]
    for first in range(0, rows, positions):
        count, message = min(positions, rows - first), [0] * n
        for j in range(count):
            doublings = sum(j % (1 << level) + (1 << level) < count for level in range(count.bit_length()))
            constant = -whole * pow(2, -doublings, P) % P
            own = [constant if row == first + j else 0 for row, _ in choices]
            message[j::positions] = polynomial(own, pow(psi, positions, P), P)
        messages.append(message)
    seed, body = os.urandom(32), b""
    for i, message in enumerate(messages):
        errors = (secrets.randbits(COINS).bit_count() - secrets.randbits(COINS).bit_count() for _ in range(n))
        noisy = [m + P * e for m, e in zip(message, errors)]
        for q in primes:
            own = root(n, q)
            transforms = (reverse_bits(values(a, own, q)) for a in (noisy, s))
            mask = Stream("omr rlwe mask v1", seed, (i, q)).residues(q, n)
            body += pack(q.bit_length(), [(m - a * x) % q for m, x, a in zip(*transforms, mask)])
    return write_frame(QUERY, of.name, header.key_id, header.bytes() + seed + body), asked


# Answers


def read_answer(data, query, asked, secret):
    """The messages of the answer to a query, and the indices whose payloads do not match their checksums."""
    _, _, body = read_own(data, ANSWER, secret)
    header, _ = read(query, QUERY, secret)
    if body[:32] != blake3(query).digest():
        raise ValueError("the answer to another query")
    of, buckets = header.set, header.set.buckets
    shape = Sums(of, 1, buckets, header.symbols)
    bits = ANSWER_BITS[len(header.pages) > SHORT]
    [sums] = decrypt(of, shape, "omr answer secret v1", secret, body[32:], bits)
    zeta = pow(root(of.small, P), of.small // buckets, P)
    by_bucket = list(zip(*(values(row, zeta, P) for row in sums)))
    found, unreadable = [], []
    for bucket, index in sorted(asked.items(), key=lambda pair: pair[1]):
        page, number = divmod(index, of.page)
        inverse = pow(units(header.seed(index), page, number + 1)[number], -1, P)
        symbols = [x * inverse % P for x in by_bucket[bucket]]
        try:
            payload, mark = payload_of(P, symbols[:-2], header.payload_bytes, header.marked)
            word = checksum_word(index, payload)
            right = [word % P, word // P % P] == symbols[-2:]
        except ValueError:
            right = False
        if right:
            found.append(Found(index, payload, mark, header.seed(index)))
        else:
            unreadable.append(index)
    return found, unreadable

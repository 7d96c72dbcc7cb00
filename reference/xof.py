"""Seeded streams of uniform residues and hashes, from the published definitions: BLAKE3 (streams take one block
of input, hashes any number) and ChaCha20 with a 64-bit counter. Checked on import.
"""

import struct

IV = [
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
    0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
]  # fmt: skip
PERMUTATION = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8]
CHUNK_START, CHUNK_END, PARENT, ROOT = 1, 2, 4, 8
WHOLE_MESSAGE = CHUNK_START | CHUNK_END | ROOT
KEYED, DERIVE_CONTEXT, DERIVE_MATERIAL = 16, 32, 64
QUARTERS = [
    (0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
    (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14),
]  # fmt: skip


def rotate_left(x, count):
    return (x << count | x >> (32 - count)) & 0xFFFFFFFF


def compress(key, block, counter, flags):
    """BLAKE3's compression of a block of at most 64 bytes: 16 words, the first 8 of which go on."""
    assert len(block) <= 64
    m = list(struct.unpack("<16I", block.ljust(64, b"\0")))
    tail = [counter & 0xFFFFFFFF, counter >> 32, len(block), flags]
    v = list(key) + IV[:4] + tail
    for _ in range(7):
        for i, (a, b, c, d) in enumerate(QUARTERS):
            for word, (first, second) in ((m[2 * i], (16, 20)), (m[2 * i + 1], (24, 25))):
                v[a] = (v[a] + v[b] + word) & 0xFFFFFFFF
                v[d] = rotate_left(v[d] ^ v[a], first)
                v[c] = (v[c] + v[d]) & 0xFFFFFFFF
                v[b] = rotate_left(v[b] ^ v[c], second)
        m = [m[i] for i in PERMUTATION]
    return [v[i] ^ v[i + 8] for i in range(8)] + [v[i + 8] ^ key[i] for i in range(8)]


def blake3_words(key, message, flags, counter):
    """The words of one 64-byte block of BLAKE3's output for a message of at most 64 bytes."""
    return compress(key, message, counter, WHOLE_MESSAGE | flags)


def blake3_tree(key, message, flags, root=ROOT, chunk=0):
    """The 8 words of a message of any length, or of the part of one that begins with chunk `chunk`."""
    if len(message) > 1024:
        left = 1024
        while 2 * left < len(message):
            left *= 2
        parts = (message[:left], chunk), (message[left:], chunk + left // 1024)
        words = [x for part, first in parts for x in blake3_tree(key, part, flags, 0, first)]
        return compress(key, struct.pack("<16I", *words), 0, PARENT | root | flags)[:8]
    words = key
    blocks = [message[i : i + 64] for i in range(0, len(message), 64)] or [b""]
    for i, block in enumerate(blocks):
        mark = CHUNK_START if i == 0 else 0
        if i + 1 == len(blocks):
            mark |= CHUNK_END | root
        words = compress(words, block, chunk, mark | flags)[:8]
    return words


def blake3_block(key, message, flags):
    """The first 32 bytes of BLAKE3's output for a message of at most 64 bytes."""
    return blake3_words(key, message, flags, 0)[:8]


def blake3_stream(key, message, flags):
    """The bytes of BLAKE3's endless output."""
    counter = 0
    while True:
        yield from struct.pack("<16I", *blake3_words(key, message, flags, counter))
        counter += 1


def derive_stream(context, material):
    """The endless output of key derivation."""
    key = blake3_block(IV, context.encode(), DERIVE_CONTEXT)
    return blake3_stream(key, material, DERIVE_MATERIAL)


def keyed_stream(key, message):
    """The endless output of the keyed hash."""
    return blake3_stream(struct.unpack("<8I", key), message, KEYED)


def derive_key(context, material):
    source = derive_stream(context, material)
    return bytes(next(source) for _ in range(32))


def derive_hash(context, message):
    """32 bytes of key derivation from a message of any length."""
    key = blake3_block(IV, context.encode(), DERIVE_CONTEXT)
    return struct.pack("<8I", *blake3_tree(key, message, DERIVE_MATERIAL))


def keyed_hash(key, message):
    """32 bytes of the keyed hash of a message of any length."""
    return struct.pack("<8I", *blake3_tree(struct.unpack("<8I", key), message, KEYED))


def chacha20(key):
    """The bytes of the stream, counter and nonce from zero."""
    counter = 0
    constant = struct.unpack("<4I", b"expand 32-byte k")
    while True:
        start = [*constant, *struct.unpack("<8I", key), counter & 0xFFFFFFFF, counter >> 32, 0, 0]
        v = list(start)
        for _ in range(10):
            for a, b, c, d in QUARTERS:
                for x, y, z, count in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
                    v[x] = (v[x] + v[y]) & 0xFFFFFFFF
                    v[z] = rotate_left(v[z] ^ v[x], count)
        yield from struct.pack("<16I", *((x + y) & 0xFFFFFFFF for x, y in zip(v, start)))
        counter += 1


def stream(domain, seed, index):
    """The stream of a domain, a 32-byte seed and a list of 64-bit indices."""
    return chacha20(derive_key(domain, seed + struct.pack(f"<{len(index)}Q", *index)))


def residues(source, modulus, count):
    """Uniform residues by rejection: eight bytes a try, little endian, cut to the modulus's bits."""
    mask = (1 << modulus.bit_length()) - 1
    out = []
    while len(out) < count:
        candidate = int.from_bytes(bytes(next(source) for _ in range(8)), "little") & mask
        if candidate < modulus:
            out.append(candidate)
    return out


# BLAKE3's own test vector for the empty message, and ChaCha20's for the zero key (RFC 8439, A.1).
_empty = struct.pack("<8I", *blake3_block(IV, b"", 0)).hex()
assert _empty.startswith("af1349b9f5f9a1a6a0404dea36dcc949")
# Its published vector of 3,073 bytes 0, 1, .., 250, 0, ..: four chunks, the last of one byte.
_long = bytes(i % 251 for i in range(3073))
assert struct.pack("<8I", *blake3_tree(IV, _long, 0)).hex().startswith("7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe6")
_output = blake3_stream(IV, b"", 0)
_output = bytes(next(_output) for _ in range(80)).hex()
assert _output.startswith(_empty + "e00f03e7b69af26b7faaf09fcd333050338ddfe085b8cc869ca98b206c08243a")
assert _output.endswith("26f5487789e8f660afe6c99ef9e0c52b")
_zero = chacha20(bytes(32))
assert bytes(next(_zero) for _ in range(8)).hex() == "76b8e0ada0f13d90"

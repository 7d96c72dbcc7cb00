"""Hashes, streams of public randomness and packed residues (docs/wire.md, sections 2 and 3)."""

import struct

import numpy
from blake3 import blake3
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20


def derive(context, *parts):
    """32 bytes of BLAKE3's key derivation from parts that follow one another."""
    return blake3(b"".join(parts), derive_key_context=context).digest()


class Stream:
    """`Xof(domain, seed, index)`."""

    def __init__(self, domain, seed, index=()):
        key = derive(domain, seed, struct.pack(f"<{len(index)}Q", *index))
        self._cipher = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()

    def words(self, count, size=8):
        """The next `count` words of `size` bytes."""
        taken = self._cipher.update(bytes(size * count))
        return [int.from_bytes(taken[i : i + size], "little") for i in range(0, size * count, size)]

    def residues(self, modulus, count):
        """Uniform residues: words cut to the modulus's bits, those that are not below it left out."""
        mask = (1 << modulus.bit_length()) - 1
        out = []
        while len(out) < count:
            out += (x for x in (word & mask for word in self.words(1)) if x < modulus)
        return out


def pack(width, values):
    """`pack(width; values)`."""
    total = sum(int(value) << (width * i) for i, value in enumerate(values))
    return total.to_bytes((width * len(values) + 7) // 8, "little")


def unpack(width, count, data):
    """The `count` residues of `width` bits that `data` holds."""
    if len(data) != (width * count + 7) // 8:
        raise ValueError(f"{count} residues of {width} bits: found {len(data)} bytes")
    bits = numpy.unpackbits(numpy.frombuffer(data, numpy.uint8), bitorder="little")
    if bits[width * count :].any():
        raise ValueError("the last byte is not filled with zeros")
    return bits[: width * count].reshape(count, width).astype(numpy.int64) @ (1 << numpy.arange(width, dtype=numpy.int64))

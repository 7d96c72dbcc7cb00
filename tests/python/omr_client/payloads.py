"""Payloads as symbols: numbers in some base, beside them a mark and a checksum (docs/wire.md, section 12)."""

import struct

from .streams import derive

# The length that both fields of the published sets have: 786433 and 97.
BLOCK = 56
MARK_BITS = 32


def symbols_for(base, limit):
    """The least number of symbols that holds every number below `limit`."""
    count = 0
    while base**count < limit:
        count += 1
    return count


def block_shapes(base, size):
    """For each block of a payload its bytes, its symbols and the bits that these hold beside the bytes."""
    shapes = []
    for at in range(0, size, BLOCK):
        block = min(BLOCK, size - at)
        symbols = symbols_for(base, 256**block)
        shapes.append((block, symbols, (base**symbols).bit_length() - 1 - 8 * block))
    return shapes


def payload_symbols(base, size, marked):
    """Symbols of a payload and its mark."""
    shapes = block_shapes(base, size)
    left = max(0, MARK_BITS - sum(free for _, _, free in shapes)) if marked else 0
    return sum(symbols for _, symbols, _ in shapes) + symbols_for(base, 1 << left)


def number(base, symbols):
    """A number from its digits, the lowest first."""
    return sum(symbol * base**i for i, symbol in enumerate(symbols))


def payload_of(base, symbols, size, marked):
    """Payload and mark of a message's payload symbols."""
    payload, mark, taken, at = b"", 0, 0, 0
    for block, count, free in block_shapes(base, size):
        value, at = number(base, symbols[at : at + count]), at + count
        bits = min(free, MARK_BITS - taken) if marked else 0
        if value >> (8 * block + bits):
            raise ValueError("digits make more than the block's bytes")
        payload += (value & (1 << 8 * block) - 1).to_bytes(block, "little")
        mark |= (value >> 8 * block) << taken
        taken += bits
    rest = number(base, symbols[at:])
    if rest >> (MARK_BITS - taken if marked else 0):
        raise ValueError("digits make more than the mark's bits")
    return payload, mark | rest << taken if marked else None


def checksum_word(index, payload):
    """The number that checksum symbols are digits of."""
    return struct.unpack_from("<Q", derive("omr payload checksum v1", struct.pack("<Q", index), payload))[0]

"""Files as parts of equal size (docs/wire.md, section 10)."""

import os

from .streams import derive

MOST_PARTS = 1 << 24


# What stands before parts of a file with fields.
MARK = b"\0\1"


def varint(value):
    """LEB128 of minimal length."""
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def file_hash(content):
    """What every part of a file in many says of the whole."""
    return derive("omr fragment v1 file", content)[:16]


def split(content, capacity):
    """The parts of a file, each of `capacity` bytes, as few as it can be."""
    if len(varint(2 * len(content) + 1)) + len(content) <= capacity:
        return [(varint(2 * len(content) + 1) + content).ljust(capacity, b"\0")]
    size, total = plan(content, capacity)
    file_id, digest = os.urandom(8), file_hash(content)
    parts = []
    for index in range(total):
        piece = content[index * size : (index + 1) * size]
        head = varint(2 * len(piece)) + file_id + varint(total) + varint(index) + digest
        parts.append((head + piece).ljust(capacity, b"\0"))
    return parts


def plan(content, capacity):
    """Bytes that all parts but the last carry, and how many parts there are: the longer the number of parts, the less
    each carries."""
    for width in range(1, 5):
        size = capacity - len(varint(2 * capacity)) - 2 * width - 24
        total = -(-len(content) // size) if size > 0 else MOST_PARTS + 1
        if total <= MOST_PARTS and len(varint(total)) <= width:
            return size, total
    raise ValueError(f"parts of {capacity} bytes are too small for {len(content)} bytes")


def read_varint(part, at):
    """A number and where it ends."""
    value, shift = 0, 0
    while True:
        byte = part[at]
        value, at, shift = value | (byte & 0x7F) << shift, at + 1, shift + 7
        if byte < 0x80:
            return value, at


def without_fields(marked, file):
    """The content of a file, whose name and other fields stand before it in marked parts."""
    if not marked:
        return file
    length, at = read_varint(file, 0)
    return file[at + length :]


def join(parts):
    """The files that are whole, of the parts of any number of files."""
    files, pieces = [], {}
    for part in parts:
        marked = part[:2] == MARK
        part = part[2:] if marked else part
        head, at = read_varint(part, 0)
        length = head >> 1
        if head & 1:
            files.append(without_fields(marked, part[at : at + length]))
            continue
        file_id = part[at : at + 8]
        total, at = read_varint(part, at + 8)
        index, at = read_varint(part, at)
        digest, at = part[at : at + 16], at + 16
        of_file = pieces.setdefault((marked, file_id, total, digest), {})
        of_file[index] = part[at : at + length]
    for (marked, _, total, digest), of_file in pieces.items():
        whole = b"".join(of_file[i] for i in sorted(of_file))
        if len(of_file) == total and file_hash(whole) == digest:
            files.append(without_fields(marked, whole))
    return files

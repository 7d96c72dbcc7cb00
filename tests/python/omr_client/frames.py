"""The container of all files, keys and addresses (docs/wire.md, sections 1, 6 and 7)."""

import base64
import struct
from dataclasses import dataclass

from blake3 import blake3

from .sets import SETS, Set
from .streams import derive, unpack

SECRET_KEY, CLUE_KEY, DIGEST = 1, 2, 4
SCAN, QUERY, ANSWER = 18, 19, 20


def read_frame(data, kind):
    """Name of the parameter set, key id and body of a file of this kind."""
    magic, version, found, length = struct.unpack_from("<4sHHB", data)
    if (magic, version, found) != (b"OMRF", 1, kind):
        raise ValueError(f"expected a file of kind {kind}, found {magic!r}, version {version}, kind {found}")
    name, key_id = data[9 : 9 + length].decode("ascii"), data[9 + length : 25 + length]
    (size,) = struct.unpack_from("<Q", data, 25 + length)
    start = 41 + length
    if data[33 + length : start] != derive("omr file v1 header", data[: 33 + length])[:8]:
        raise ValueError("the header is damaged")
    if len(data) != start + size + 32 or data[-32:] != derive("omr file v1", data[:-32]):
        raise ValueError("the file is damaged")
    return name, key_id, data[start:-32]


def write_frame(kind, name, key_id, body):
    """A file of this kind."""
    head = struct.pack("<4sHHB", b"OMRF", 1, kind, len(name)) + name.encode() + key_id + struct.pack("<Q", len(body))
    whole = head + derive("omr file v1 header", head)[:8] + body
    return whole + derive("omr file v1", whole)


@dataclass
class ClueKey:
    """Where clues go: section 7."""

    set: Set
    bound: bool
    seed: bytes
    beta: list
    x25519: bytes

    @classmethod
    def read(cls, data):
        """That of a clue.key."""
        name, _, body = read_frame(data, CLUE_KEY)
        of = SETS[name]
        size = (of.beta_width * of.beta_length + 7) // 8
        if len(body) != 33 + size + 32 + 1216 or body[0] not in (1, 2):
            raise ValueError("not the clue.key that the set has")
        beta = unpack(of.beta_width, of.beta_length, body[33 : 33 + size]).tolist()
        return cls(of, body[0] == 2, body[1:33], beta, body[33 + size : 65 + size])


@dataclass
class SecretKey:
    """What reads digests: section 6."""

    set: Set
    detection_key_id: bytes
    digest_seed: bytes
    sealing_seed: bytes
    address_seed: bytes | None
    beta: list | None

    @classmethod
    def read(cls, data):
        """That of a secret.key."""
        name, key_id, body = read_frame(data, SECRET_KEY)
        of = SETS[name]
        if body[:16] != key_id:
            raise ValueError("the ids differ")
        size = (of.beta_width * of.beta_length + 7) // 8
        plain = 32 + (2 * of.beta_length + 7) // 8 + 64
        bound = len(body) == plain + 32 + size
        if not bound and len(body) != plain:
            raise ValueError("not the secret.key that the set has")
        seed = body[32:64] if bound else None
        beta = unpack(of.beta_width, of.beta_length, body[64 : 64 + size]).tolist() if bound else None
        return cls(of, body[16:32], body[-64:-32], body[-32:], seed, beta)

"""Files under a passphrase (docs/wire.md, section 21)."""

import struct
import unicodedata

from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from .frames import read_frame

LOCKED = 14
HEAD = struct.Struct("<HIII16s")


def unlock(data, passphrase):
    """Kind and bytes of the file within; InvalidTag for another passphrase."""
    name, key_id, body = read_frame(data, LOCKED)
    kind, memory, passes, lanes, salt = HEAD.unpack_from(body)
    if not (8 <= memory <= 1 << 20 and 1 <= passes <= 16 and 1 <= lanes <= 16):
        raise ValueError("the file asks for too much memory or time")
    kdf = Argon2id(salt=salt, length=32, iterations=passes, lanes=lanes, memory_cost=memory)
    covered = bytes([len(name)]) + name.encode("ascii") + key_id + body[: HEAD.size]
    text = unicodedata.normalize("NFC", passphrase.removeprefix("\ufeff").rstrip("\r\n"))
    cipher = ChaCha20Poly1305(kdf.derive(text.encode()))
    return kind, cipher.decrypt(bytes(12), body[HEAD.size :], covered)

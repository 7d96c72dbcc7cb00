"""Sealing of payloads: HPKE (RFC 9180) in base mode over X25519, as docs/wire.md, section 10 has it.

X-Wing needs ML-KEM-768 besides and is left out here: a board that asks for it is refused.
"""

import hashlib
import hmac
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

from .streams import derive

INFO = b"omr seal v1"
OVERHEAD = {"none": 0, "hpke-x25519": 48, "x-wing": 1136}
TAGS = {0: "none", 1: "hpke-x25519", 2: "x-wing"}

KEM_SUITE = b"KEM\x00\x20"
# DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20-Poly1305.
HPKE_SUITE = b"HPKE\x00\x20\x00\x01\x00\x03"


def labeled_extract(suite, salt, label, key):
    """RFC 9180, section 4."""
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + key, hashlib.sha256)


def labeled_expand(suite, key, label, info, length):
    """RFC 9180, section 4; at most 32 bytes, which is one block of HKDF."""
    text = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return hmac.digest(key, text + b"\x01", hashlib.sha256)[:length]


def derive_key_pair(material):
    """`DeriveKeyPair` of the KEM."""
    extracted = labeled_extract(KEM_SUITE, b"", b"dkp_prk", material)
    return X25519PrivateKey.from_private_bytes(labeled_expand(KEM_SUITE, extracted, b"sk", b"", 32))


def recipient_key(sealing_seed):
    """The recipient's key pair from the seed in secret.key (section 6)."""
    return derive_key_pair(derive("omr seal v1 x25519 key material", sealing_seed))


def _cipher(shared, encapsulated, recipient):
    """AEAD and nonce of the one message, from the Diffie-Hellman value."""
    extracted = labeled_extract(KEM_SUITE, b"", b"eae_prk", shared)
    secret = labeled_expand(KEM_SUITE, extracted, b"shared_secret", encapsulated + recipient, 32)
    context = b"\x00" + labeled_extract(HPKE_SUITE, b"", b"psk_id_hash", b"")
    context += labeled_extract(HPKE_SUITE, b"", b"info_hash", INFO)
    schedule = labeled_extract(HPKE_SUITE, secret, b"secret", b"")
    key = labeled_expand(HPKE_SUITE, schedule, b"key", context, 32)
    return ChaCha20Poly1305(key), labeled_expand(HPKE_SUITE, schedule, b"base_nonce", context, 12)


def additional_data(board_id, params_id):
    """What binds a payload to its board."""
    return board_id + params_id.encode()


def seal(recipient, aad, plaintext, ephemeral_material=None):
    """The payload of a plaintext. `ephemeral_material` is for test vectors alone."""
    ephemeral = derive_key_pair(ephemeral_material or os.urandom(32))
    encapsulated = ephemeral.public_key().public_bytes_raw()
    shared = ephemeral.exchange(X25519PublicKey.from_public_bytes(recipient))
    cipher, nonce = _cipher(shared, encapsulated, recipient)
    return encapsulated + cipher.encrypt(nonce, plaintext, aad)


def unseal(secret, aad, payload):
    """The plaintext of a payload; None if it does not open."""
    encapsulated, body = payload[:32], payload[32:]
    try:
        shared = secret.exchange(X25519PublicKey.from_public_bytes(encapsulated))
        cipher, nonce = _cipher(shared, encapsulated, secret.public_key().public_bytes_raw())
        return cipher.decrypt(nonce, body, aad)
    except (InvalidTag, ValueError):
        return None

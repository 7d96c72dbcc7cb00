"""Addresses as text (docs/wire.md, section 7), with their keys of periods (section 26)."""

import base64
import struct

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from .streams import derive

BEGIN, END = "-----BEGIN OMR ADDRESS-----", "-----END OMR ADDRESS-----"


# Added to the tag of the sealing in the fingerprint of an address with keys of periods.
HAS_PERIODS = 64
SEALINGS = {"none": 0, "hpke-x25519": 1, "x-wing": 2}


def read_address(text):
    """Server, clue.key and keys of periods of an address, after a check of its fingerprint and of their signature.

    A client that seals by HPKE alone takes no other sealing.
    """
    lines = [line.strip(" \t\r>") for line in text.splitlines()]
    fields, body, listed = {}, "", ""
    for line in lines[lines.index(BEGIN) + 1 : lines.index(END)]:
        name, colon, value = line.partition(":")
        if name == "Periods":
            listed += value.strip()
        elif colon:
            fields[name] = value.strip()
        else:
            body += line
    clue_key, server = base64.b64decode(body, validate=True), fields.get("Server", "")
    raw, terms = server.encode(), read_terms(fields, HAS_PERIODS if listed else 0)
    expected = derive("omr address v1", struct.pack("<Q", len(raw)), raw, terms, clue_key)[:16]
    if "Signer" in fields:
        key = base64.b64decode(fields["Signer"], validate=True)
        expected = derive("omr signing address v1", key, expected)[:16]
    if fields["Fingerprint"].replace(" ", "").lower() != expected.hex():
        raise ValueError("the address is damaged: its fingerprint is another")
    periods = read_periods(base64.b64decode(listed, validate=True), key) if listed else {}
    return server, clue_key, periods


def period_at(seconds):
    """The number of the period that contains a time since 1970."""
    return max(0, int(seconds) - 1788480000) // 2592000


def read_periods(listed, signer):
    """The X25519 keys of a list, by their periods; InvalidSignature unless the owner of the address signed it."""
    signed, signature = listed[:-64], listed[-64:]
    Ed25519PublicKey.from_public_bytes(signer).verify(signature, derive("omr period v1 list of keys", signed))
    version, sealing, first = struct.unpack_from("<BBI", signed)
    keys = signed[6:]
    if (version, sealing) != (1, SEALINGS["hpke-x25519"]) or len(keys) % 32:
        raise ValueError("expected a list of version 1 with keys of X25519")
    return {first + at // 32: keys[at : at + 32] for at in range(0, len(keys), 32)}


def read_terms(fields, flag):
    """What letters must be like, as the fingerprint covers it."""
    if fields["Version"] != "1" or fields["Sealing"] != "hpke-x25519":
        raise ValueError("expected an address of version 1 that takes letters sealed with hpke-x25519")
    return struct.pack("<BII", SEALINGS[fields["Sealing"]] | flag, int(fields["Bound"]), int(fields["Parts"]))

"""Addresses as text (docs/wire.md, section 7)."""

import base64
import struct

from .streams import derive

BEGIN, END = "-----BEGIN OMR ADDRESS-----", "-----END OMR ADDRESS-----"


SEALINGS = {"none": 0, "hpke-x25519": 1, "x-wing": 2}


def read_address(text):
    """Server and clue.key of an address; its fingerprint is checked. A client that seals by HPKE alone takes no other."""
    lines = [line.strip(" \t\r>") for line in text.splitlines()]
    fields, body = {}, ""
    for line in lines[lines.index(BEGIN) + 1 : lines.index(END)]:
        name, colon, value = line.partition(":")
        if colon:
            fields[name] = value.strip()
        else:
            body += line
    clue_key, server = base64.b64decode(body, validate=True), fields.get("Server", "")
    raw, terms = server.encode(), read_terms(fields)
    expected = derive("omr address v1", struct.pack("<Q", len(raw)), raw, terms, clue_key)[:16]
    if "Signer" in fields:
        key = base64.b64decode(fields["Signer"], validate=True)
        expected = derive("omr signing address v1", key, expected)[:16]
    if fields["Fingerprint"].replace(" ", "").lower() != expected.hex():
        raise ValueError("the address is damaged: its fingerprint is another")
    return server, clue_key


def read_terms(fields):
    """What letters must be like, as the fingerprint covers it."""
    if fields["Version"] != "1" or fields["Sealing"] != "hpke-x25519":
        raise ValueError("expected an address of version 1 that takes letters sealed with hpke-x25519")
    return struct.pack("<BII", SEALINGS[fields["Sealing"]], int(fields["Bound"]), int(fields["Parts"]))

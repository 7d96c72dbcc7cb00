"""Addresses as text (docs/wire.md, section 7)."""

import base64
import struct

from .streams import derive

BEGIN, END = "-----BEGIN OMR ADDRESS-----", "-----END OMR ADDRESS-----"


def read_address(text):
    """Server and clue.key of an address; its fingerprint is checked."""
    lines = [line.strip(" \t\r>") for line in text.splitlines()]
    fields, body = {}, ""
    for line in lines[lines.index(BEGIN) + 1 : lines.index(END)]:
        name, colon, value = line.partition(":")
        if colon:
            fields[name] = value.strip()
        else:
            body += line
    clue_key, server = base64.b64decode(body, validate=True), fields.get("Server", "")
    raw = server.encode()
    expected = derive("omr address v1 fingerprint", struct.pack("<Q", len(raw)), raw, clue_key)[:10]
    if fields["Fingerprint"].replace(" ", "").lower() != expected.hex():
        raise ValueError("the address is damaged: its fingerprint is another")
    return server, clue_key

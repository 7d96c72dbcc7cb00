"""The frozen files below testdata: the same that the tests in Rust read."""


import pytest

import omr
from conftest import ROOT

WIRE = ROOT / "testdata" / "wire" / "v1"
PLAIN = WIRE / "plain-v4"


def test_keys_are_read_and_written_byte_for_byte():
    for folder in [PLAIN, WIRE / "opened-v4", WIRE / "instant-v4"]:
        secret, address = (folder / "secret.key").read_bytes(), (folder / "clue.key").read_bytes()
        identity = omr.Identity.load(folder)
        assert identity.secret_bytes() == secret, folder
        assert identity.address == address, folder


def test_a_digest_is_decoded():
    identity, digest = omr.Identity.load(PLAIN), omr.Digest.load(PLAIN / "digest.bin")
    assert bytes(digest) == (PLAIN / "digest.bin").read_bytes()
    assert (digest.range, digest.bound, digest.payload_bytes) == (range(0, 100), 5, 12)
    listed = "".join(f"{one.index} {one.payload.hex()}\n" for one in identity.retrieve(digest))
    assert listed == (PLAIN / "messages.txt").read_text()


@pytest.mark.parametrize("folder", ["opened-v4", "instant-v4"])
def test_digests_of_every_scheme_are_decoded(folder):
    identity = omr.Identity.load(WIRE / folder)
    for path in sorted((WIRE / folder).glob("digest*.bin")):
        digest = omr.Digest.load(path)
        assert bytes(digest) == path.read_bytes()
        found = identity.retrieve(digest)
        assert found and all(one.index in digest.range for one in found), path
        assert {len(one.payload) for one in found} == {digest.payload_bytes}


def test_a_locked_secret_is_opened():
    with pytest.raises(omr.PassphraseError):
        omr.Identity.from_bytes(PLAIN / "secret.key.locked")
    locked = (PLAIN / "secret.key.locked").read_bytes()
    opened = omr.Identity.from_bytes(locked, passphrase="correct horse battery staple")
    assert opened.secret_bytes() == (PLAIN / "secret.key").read_bytes()


def test_every_cut_and_every_flipped_byte_is_refused():
    whole = (PLAIN / "digest.bin").read_bytes()
    for length in [0, 3, 8, 50, len(whole) // 2, len(whole) - 1]:
        with pytest.raises(omr.FileError):
            omr.Digest.from_bytes(whole[:length])
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        mauled = bytearray(whole)
        mauled[at] ^= 1
        with pytest.raises(omr.OmrError):
            omr.Digest.from_bytes(mauled)
    with pytest.raises(omr.FileError):
        omr.Digest.from_bytes(whole + b"x")
    with pytest.raises(omr.FileError) as error:
        omr.Digest.load(PLAIN / "clue.key")
    assert (error.value.expected, error.value.found) == ("a digest", "a clue key")

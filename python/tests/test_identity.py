"""Recipients: their files are the command's, their secrets are shown to nobody."""

import os
import stat

import pytest

import omr
from conftest import HYBRID, TINY


def test_secrets_come_back_from_bytes_and_files(alice, tmp_path):
    again = omr.Identity.from_bytes(alice.secret_bytes())
    assert again.address == alice.address
    assert again.secret_bytes() == alice.secret_bytes()
    alice.save(tmp_path / "alice", plain=True)
    loaded = omr.Identity.load(tmp_path / "alice")
    assert loaded.secret_bytes() == alice.secret_bytes()
    assert (tmp_path / "alice" / "clue.key").read_bytes() == alice.address
    assert (alice.params, alice.clues) == (TINY, "bound")


def test_files_are_the_owners_and_replace_nothing(alice, bob, tmp_path):
    alice.save(tmp_path, plain=True)
    mode = stat.S_IMODE(os.stat(tmp_path / "secret.key").st_mode)
    assert mode == 0o600
    with pytest.raises(FileExistsError):
        bob.save(tmp_path, plain=True)
    bob.save(tmp_path, overwrite=True, plain=True)
    assert omr.Identity.load(tmp_path).address == bob.address
    assert sorted(os.listdir(tmp_path)) == ["clue.key", "secret.key"]


def test_a_secret_is_written_without_a_passphrase_only_by_name(alice, tmp_path):
    keys = omr.pdq.Keys.generate("insecure-tiny-pdq-v1")
    for save in [alice.save, keys.save]:
        with pytest.raises(omr.PassphraseError, match="plain=True .* found neither"):
            save(tmp_path / "new")
        with pytest.raises(omr.PassphraseError, match="found both"):
            save(tmp_path / "new", passphrase="a long passphrase", plain=True)
    assert os.listdir(tmp_path) == []


def test_no_repr_shows_a_secret(alice):
    secret = alice.secret_bytes()
    shown = repr(alice) + str(alice) + format(alice)
    assert TINY in shown
    # The id at the front of the file is that of the address.
    windows = {secret[at : at + 4].hex() for at in range(80, len(secret) - 40)}
    id_of_address = repr(alice).split()[1].rstrip(":")
    assert not any(window in shown.replace(id_of_address, "") for window in windows)
    with pytest.raises(TypeError):
        vars(alice)


def test_addresses_for_plain_clues_stand_beside_the_secret():
    plain = omr.Identity.generate(TINY, clues="plain")
    assert plain.clues == "plain"
    bare = omr.Identity.from_bytes(plain.secret_bytes())
    with pytest.raises(omr.FileError, match="address"):
        bare.address
    whole = omr.Identity.from_bytes(plain.secret_bytes(), address=plain.address)
    assert whole.address == plain.address


def test_an_address_of_somebody_else_is_refused(alice, bob):
    with pytest.raises(omr.FileError) as error:
        omr.Identity.from_bytes(alice.secret_bytes(), address=bob.address)
    assert error.value.expected != error.value.found


@pytest.mark.slow
def test_passphrases_lock_secrets(alice):
    locked = alice.secret_bytes(passphrase="a passphrase")
    again = omr.Identity.from_bytes(locked, passphrase="a passphrase")
    assert again.secret_bytes() == alice.secret_bytes()
    with pytest.raises(omr.PassphraseError, match="passphrase="):
        omr.Identity.from_bytes(locked)
    with pytest.raises(omr.PassphraseError, match="wrong"):
        omr.Identity.from_bytes(locked, passphrase="another")
    with pytest.raises(omr.PassphraseError):
        alice.secret_bytes(passphrase="")
    with pytest.raises(omr.PassphraseError, match="at least 8 characters"):
        alice.secret_bytes(passphrase="cafe\u0301 au")
    # However it is typed.
    locked = alice.secret_bytes(passphrase="caf\u00e9 au lait")
    again = omr.Identity.from_bytes(locked, passphrase="\ufeffcafe\u0301 au lait\r\n")
    assert again.secret_bytes() == alice.secret_bytes()


def test_detection_keys_are_files_or_bytes(alice, alice_key, tmp_path):
    told = []
    path = tmp_path / "detection.key"
    alice.save_detection_key(path, progress=lambda *news: told.append(news))
    assert path.stat().st_size == len(alice_key)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert told[-1] == ("writing key", len(alice_key), len(alice_key))
    assert omr.Detector(path).params == TINY
    with pytest.raises(FileExistsError):
        alice.save_detection_key(path)


def test_keys_for_each_engine(carol, carol_keys):
    assert carol.params == HYBRID
    detector = omr.Detector(carol_keys, threads=1)
    assert detector.engines == ["sophomr", "instantomr"]
    with pytest.raises(ValueError, match="sophomr, instantomr or two-rounds"):
        carol.detection_key("other")


def test_keys_of_a_board_share_their_masks(alice, bob, board):
    one, other = alice.detection_key(board=board), bob.detection_key(board=board)
    board.post(alice.address, b"hello")
    digest = omr.Detector(one).digest(board)
    assert [letter.data for letter in alice.decode(digest)] == [b"hello"]
    assert len(one) == len(other)

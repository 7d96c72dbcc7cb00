"""Recipients from words: the same keys as in Rust and by the command."""

import json
import struct
import subprocess
import sys

import pytest

import omr
from conftest import COMMAND, HYBRID, ROOT, TINY

sys.path.append(str(ROOT / "reference"))
from xof import IV, blake3_tree

WORDS = ROOT / "testdata" / "words"
# BIP-39's vector of 32 bytes of 7f.
LEGAL = "legal winner thank year wave sausage worth useful " * 3
RIGHT = LEGAL.removesuffix("useful ") + "title"


def blake3(message):
    return struct.pack("<8I", *blake3_tree(IV, message, 0)[:8]).hex()


def command(*args):
    return subprocess.run([COMMAND, *map(str, args)], check=True, capture_output=True, text=True).stdout


def test_secrets_are_those_of_the_vectors():
    cases = json.loads((WORDS / "secrets.json").read_text())
    assert len(cases) >= 10
    for case in cases:
        words = omr.Words.parse(case["words"])
        made = omr.Identity.from_words(words, case["params"], clues=case["clues"])
        assert (made.params, made.clues) == (case["params"], case["clues"])
        assert blake3(made.secret_bytes()) == case["secret.key"], case


def test_addresses_are_those_of_the_vectors():
    cases = json.loads((WORDS / "keys.json").read_text())
    assert len(cases) >= 5
    for case in cases:
        made = omr.Identity.from_words(omr.Words.parse(RIGHT), case["params"], clues=case["clues"])
        assert blake3(made.address) == case["clue.key"], case
    # The vector of docs/wire.md: the default set and kind of clues.
    made = omr.Identity.from_words(omr.Words.parse(RIGHT))
    assert blake3(made.address) == "47b8db5f0e6c1e14c28dda64b9492afb56368819c62b4c68b3b6ce2672ac8390"


@pytest.mark.skipif(not COMMAND, reason="OMR_COMMAND names no command")
def test_keys_are_those_of_the_command(tmp_path):
    words = omr.Words.generate()
    (tmp_path / "words").write_text(" ".join(words.each()))
    out = tmp_path / "keys"
    command("keygen", "--params", HYBRID, "--from-words", tmp_path / "words", "--out", out)
    made = omr.Identity.from_words(words, HYBRID)
    assert made.address == (out / "clue.key").read_bytes()
    assert made.secret_bytes() == (out / "secret.key").read_bytes()
    assert made.detection_key("sophomr") == (out / "detection.key").read_bytes()
    assert made.detection_key("instantomr") == (out / "instant.key").read_bytes()


def test_words_are_shown_on_request_alone():
    words = omr.Words.generate()
    each = words.each()
    assert len(each) == 24 and each != omr.Words.generate().each()
    assert repr(words) == str(words) == f"{words}" == "<omr.Words>"
    made = omr.Identity.from_words(words, TINY)
    assert not any(word in repr(made).split() for word in each)
    numbered = "\n".join(f"{number}. {word.upper()}" for number, word in enumerate(each, 1))
    assert omr.Words.parse(numbered).each() == each


def test_wrong_words_are_refused_and_not_repeated():
    with pytest.raises(omr.WordsError, match="expected 24 words, found 23") as error:
        omr.Words.parse(RIGHT.rpartition(" ")[0])
    assert (error.value.expected, error.value.found) == ("24", "23")
    with pytest.raises(omr.WordsError, match="found 0"):
        omr.Words.parse("")
    with pytest.raises(omr.WordsError, match="checksum"):
        omr.Words.parse(RIGHT.replace("winner thank", "thank winner", 1))
    with pytest.raises(omr.WordsError, match="checksum"):
        omr.Words.parse(LEGAL)
    with pytest.raises(omr.WordsError, match="English list of BIP-39.*word 24 is none") as error:
        omr.Words.parse(RIGHT.replace("title", "titelle"))
    assert "titelle" not in str(error.value)
    with pytest.raises(omr.WordsError, match="words of other languages"):
        omr.Words.parse("abaisser " * 24)


def test_words_restore_an_inbox_with_letters_from_before(url, tmp_path):
    words = omr.Words.generate()
    client = omr.Client(url)
    birthday = client.board().messages
    with (
        omr.Inbox.create(tmp_path / "new", url, words=words, birthday=birthday) as inbox,
        omr.Inbox.create(tmp_path / "friend", url) as friend,
    ):
        address = inbox.address
        friend.send(address, b"from before")
        assert inbox.birthday == birthday
    again = omr.Words.parse(" ".join(words.each()))
    with omr.Inbox.create(tmp_path / "restored", url, words=again, birthday=birthday) as inbox:
        assert (inbox.address, inbox.birthday) == (address, birthday)
        assert [letter.data for letter in inbox.take()] == [b"from before"]
    with omr.Inbox.create(tmp_path / "whole", url, words=again) as inbox:
        assert (inbox.address, inbox.birthday) == (address, 0)
        assert [letter.data for letter in inbox.take()] == [b"from before"]
    # The command makes the same identity of them, and its address at this server.
    (tmp_path / "words").write_text(" ".join(words.each()))
    home = tmp_path / "command"
    command("id", "new", "--from-words", tmp_path / "words", "--birthday", birthday, "--home", home, "--server", url)
    assert command("address", "--home", home) == address
    with omr.Inbox.open(home) as inbox:
        assert inbox.birthday == birthday
    # Other words have another address, and take over no other keys.
    other = tmp_path / "other"
    omr.Identity.from_words(omr.Words.generate(), TINY).save(other, plain=True)
    with pytest.raises(omr.IdentityError, match="that of the words"):
        omr.Inbox.create(other, url, words=words)


def test_birthdays_are_for_keys_that_are_made_again(url, tmp_path):
    end = omr.Client(url).board().messages
    with pytest.raises(ValueError, match="birthday with words"):
        omr.Inbox.create(tmp_path / "new", url, birthday=0)
    words = omr.Words.generate()
    with pytest.raises(ValueError, match=f"at most {end}, .* found {end + 1}"):
        omr.Inbox.create(tmp_path / "new", url, words=words, birthday=end + 1)
    assert not (tmp_path / "new").exists()
    with omr.Inbox.create(tmp_path / "new", url) as inbox:
        assert inbox.birthday == end
    # Keys without words, too, may have letters.
    omr.Identity.from_words(words, TINY).save(tmp_path / "keys", plain=True)
    with omr.Inbox.create(tmp_path / "keys", url, birthday=end) as inbox:
        assert inbox.birthday == end

"""The inbox at a server: letters come once, on a schedule that does not depend on them."""

import json
import subprocess
import threading
import time

import pytest

import omr
from conftest import COMMAND, TINY, interrupt


@pytest.fixture(scope="module")
def homes(url, tmp_path_factory):
    """Identities at one server: two with digests, and one with two rounds."""
    folder = tmp_path_factory.mktemp("homes")
    for name in ["ann", "bob"]:
        omr.Inbox.create(folder / name, url, scheme="sophomr", bound=2, spares=1).close()
    omr.Inbox.create(folder / "eve", url).close()
    return folder


@pytest.fixture
def ann(homes):
    with omr.Inbox.open(homes / "ann") as inbox:
        yield inbox


@pytest.fixture
def bob(homes):
    with omr.Inbox.open(homes / "bob") as inbox:
        yield inbox


@pytest.fixture
def eve(homes):
    with omr.Inbox.open(homes / "eve") as inbox:
        yield inbox


def test_letters_come_once_and_stay(ann, bob, homes):
    bob.add_contact("ann", ann.address)
    assert list(bob.contacts) == ["ann"] and bob.contacts["ann"] == ann.address
    sent = bob.send("ann", b"hello Ann", name="letter.txt")
    bob.send(ann.address.encode(), b"again")
    told = []
    taken = ann.take(progress=lambda *news: told.append(news))
    assert [(letter.index, letter.name, letter.data, letter.read) for letter in taken] == [
        (sent[0], "letter.txt", b"hello Ann", False),
        (taken[1].index, None, b"again", False),
    ]
    assert told and (taken.kept, taken.unopened) == ([], 0)
    assert len(ann.take()) == 0 and len(bob.take()) == 0
    ann.mark_read(taken[0])
    assert [letter.data for letter in ann.letters()] == [b"again"]
    ann.close()
    # The command reads the same folder.
    printed = subprocess.run(
        [COMMAND, "inbox", "--offline", "--all", "--home", homes / "ann"], capture_output=True, text=True, check=True
    )
    assert "letter.txt" in printed.stdout and "again" in printed.stdout
    with omr.Inbox.open(homes / "ann") as again:
        assert [letter.data for letter in again.letters(all=True)] == [b"hello Ann", b"again"]
    bob.remove_contact("ann")
    assert bob.contacts == {}


def test_too_many_letters_are_kept_and_come_later(ann, bob):
    before = {letter.number for letter in ann.letters(all=True)}
    letters = [b"%d" % number for number in range(3)]
    for letter in letters:
        bob.send(ann.address, letter)
    taken = ann.take()
    (kept,) = taken.kept
    assert (kept.bound, kept.count, kept.exact) == (2, 3, True)
    assert [one.start for one in ann.kept()] == [kept.start] and 0 < kept.fetches_left <= 7
    for _ in range(kept.fetches_left):
        ann.take()
    assert sorted(letter.data for letter in ann.letters(all=True) if letter.number not in before) == letters
    assert ann.kept() == []


def test_kept_ranges_are_asked_for_again(ann, bob):
    before = {letter.number for letter in ann.letters(all=True)}
    letters = [b"more %d" % number for number in range(3)]
    for letter in letters:
        bob.send(ann.address, letter)
    taken = ann.take()
    (kept,) = taken.kept
    # A spare digest may bring some of them at once.
    came = [letter.data for letter in taken]
    with pytest.raises(omr.PlanError):
        ann.raise_bound(1 << 20)
    assert (ann.retry_damaged(), ann.raise_bound(2), ann.kept()[0].asked_again) == (0, 0, False)
    assert (ann.raise_bound(3), ann.kept()[0].asked_again) == (1, True)
    came += [letter.data for letter in ann.take()]
    assert sorted(came) == letters
    assert ann.kept() == []
    # Once more, a message in each request: what is here comes no second time.
    assert ann.again(kept.start, kept.end, bound=1, by=1) == kept.end - kept.start
    assert len(ann.take()) == 0
    assert ann.again(kept.start, kept.end) == 1
    assert ann.drop(kept.start, kept.end) == (0, 1)
    with pytest.raises(omr.InboxError):
        ann.drop(kept.start, kept.end)
    with pytest.raises(omr.InboxError):
        ann.again(0, 1 << 40)
    with pytest.raises(ValueError):
        ann.again(kept.start, kept.end, by=0)
    assert {letter.number for letter in ann.letters(all=True)} - before == {
        letter.number for letter in ann.letters(all=True) if letter.data in letters
    }


def test_many_letters_wait_for_further_fetches(eve, bob, homes):
    eve.take()
    assert (homes / "eve" / "rounds.key").exists() and not (homes / "eve" / "detection.key").exists()
    none = eve.waiting()
    assert (none.messages, none.syncs) == (0, 0)
    # More than a scan contains the payloads of, and more than two queries ask for.
    large = bytes(500 * 66)
    bob.send(eve.address, large, large=True)
    letters = [b"%d" % number for number in range(30)]
    for letter in letters:
        bob.send(eve.address, letter)
    taken = eve.take()
    waiting = eve.waiting()
    assert taken.kept == [] and waiting.messages > 60 and waiting.syncs >= 5
    eve.close()
    printed = subprocess.run(
        [COMMAND, "inbox", "--offline", "--json", "--home", homes / "eve"], capture_output=True, text=True, check=True
    )
    assert json.loads(printed.stdout)["waiting"] == {"messages": waiting.messages, "syncs": waiting.syncs}
    came = [letter.data for letter in taken]
    with omr.Inbox.open(homes / "eve") as again:
        for fetches in range(20):
            if not again.waiting().messages:
                break
            came += [letter.data for letter in again.take()]
        assert again.waiting().messages == 0 and fetches >= 5
        assert sorted(came) == sorted([*letters, large])
        assert len(again.take()) == 0


def test_letters_name_their_senders_and_are_answered(ann, eve):
    first = eve.send(ann.address, b"At eight?", name="a.txt", signed=True, subject="Dinner", media_type="text/plain")
    eve.send(ann.address, b"A tip", subject="From nobody")
    question, tip = ann.take()
    assert (question.index, question.name, question.subject, question.media_type) == (
        first[0],
        "a.txt",
        "Dinner",
        "text/plain",
    )
    assert question.sender.startswith("omr1") and len(question.thread) == 32 and not question.forged
    assert abs(question.time - time.time()) < 60
    assert (tip.subject, tip.sender, tip.forged, tip.thread, tip.time) == ("From nobody", None, False, None, None)
    with pytest.raises(omr.AddressError):
        ann.reply(question, b"Yes")
    assert eve.publish() == question.sender
    ann.reply(question, b"Yes")
    ann.add_contact("eve", eve.address)
    (answer,) = [letter for letter in eve.take() if letter.data == b"Yes"]
    assert (answer.thread, answer.subject) == (question.thread, "Dinner")
    eve.add_contact("ann", ann.address)
    eve.reply(answer, b"Good", subject="Settled")
    (last,) = ann.take()
    assert (last.thread, last.subject, last.sender) == (question.thread, "Settled", question.sender)
    groups = [[letter.data for letter in group] for group in ann.conversations()]
    assert [b"At eight?", b"Good"] in groups and [b"A tip"] in groups
    with pytest.raises(omr.InboxError):
        ann.reply(tip, b"Who are you?")
    with pytest.raises(omr.LetterError):
        eve.send(ann.address, b"x", subject="x" * 257)
    # Muted letters come, and no fetch reports them.
    ann.mute(last.sender)
    assert ann.muted() == [last.sender.partition("@")[0]]
    eve.send(ann.address, b"Spam", signed=True)
    assert list(ann.take()) == []
    assert [letter.read for letter in ann.letters(all=True) if letter.data == b"Spam"] == [True]
    assert (ann.unmute("eve"), ann.unmute("eve"), ann.muted()) == (True, False, [])
    ann.delete(last, tip)
    assert not {last.number, tip.number} & {letter.number for letter in ann.letters(all=True)}
    with pytest.raises(omr.InboxError):
        ann.delete(tip)
    assert list(ann.take()) == []


def test_what_has_no_inbox_opens_letters_to_both_kinds_of_keys(ann, eve, homes, url, tmp_path):
    # A bare clue key has no keys of periods, the address has them.
    (first,) = eve.send((homes / "ann" / "clue.key").read_bytes(), b"hello", name="a.txt", signed=True, subject="Dinner")
    (second,) = eve.send(ann.address, b"again", name="b.txt")
    client = omr.Client(url)
    digest = client.digest(client.register(homes / "ann" / "detection.key"), range=range(first, second + 1), bound=4)
    digest.save(tmp_path / "digest")
    loaded = omr.Identity.load(homes / "ann")
    loaded.save(tmp_path / "saved", plain=True)
    for identity in [loaded, omr.Identity.load(tmp_path / "saved")]:
        found = identity.decode(digest)
        assert [(letter.name, letter.data) for letter in found] == [("a.txt", b"hello"), ("b.txt", b"again")]
    files = [COMMAND, "decode", "--secret-key", homes / "ann" / "secret.key", "--digest", tmp_path / "digest"]
    subprocess.run([*files, "--out", tmp_path / "letters"], check=True, capture_output=True)
    for index, name, data in [(first, "a.txt", b"hello"), (second, "b.txt", b"again")]:
        assert (tmp_path / "letters" / f"{index:06}-{name}").read_bytes() == data
    # Without the secrets of periods, the permanent key opens its own letter alone.
    (tmp_path / "saved" / "periods.key").unlink()
    left = omr.Identity.load(tmp_path / "saved").decode(digest)
    assert [letter.data for letter in left] == [b"hello"]
    (tmp_path / "saved" / "periods.key").write_bytes(b"damaged")
    with pytest.raises(omr.FileError, match="secrets of periods"):
        omr.Identity.load(tmp_path / "saved")
    assert [letter.data for letter in ann.take()] == [b"hello", b"again"]


def test_canaries_return(ann):
    assert ann.canaries() == []
    ann.post_canary()
    (canary,) = ann.canaries()
    assert (canary.state, canary.missing_from) == ("posted", None) and canary.index is not None
    assert len(ann.take()) == 0
    assert [canary.state for canary in ann.canaries()] == ["returned"]
    # One about every tenth of a second.
    with ann.watch(every=0.2, canaries=1e6) as watch:
        deadline = time.monotonic() + 30
        while len(ann.canaries()) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
    assert list(watch) == []
    assert len(ann.take()) == 0
    # Between two ticks may be more of them than a digest holds: they come later.
    while any(kept.fetches_left for kept in ann.kept()):
        assert len(ann.take()) == 0
    assert len(ann.canaries()) >= 3 and {canary.state for canary in ann.canaries()} <= {"returned", "posting"}
    for rate in [0.0, -1.0, float("nan"), 1e9]:
        with pytest.raises(ValueError, match="canaries"):
            ann.watch(canaries=rate)


def test_a_watch_gives_letters_as_they_come(ann, bob):
    bob.send(ann.address, b"before")
    with ann.watch(every=0.2, count=50) as watch:
        with pytest.raises(omr.InboxBusyError):
            ann.take()
        assert next(watch).data == b"before"
        bob.send(ann.address, b"meanwhile")
        assert next(watch).data == b"meanwhile"
    assert list(watch) == []
    assert list(ann.watch(every=0.1, count=2)) == []
    watch = ann.watch(every=0.1)
    ann.close()
    assert list(watch) == []


def test_the_schedule_goes_on_while_letters_are_looked_at(ann, bob):
    bob.send(ann.address, b"first")
    with ann.watch(every=0.2, count=50) as watch:
        assert next(watch).data == b"first"
        bob.send(ann.address, b"second")
        time.sleep(1)
        # It was fetched long ago: nothing waits for the next tick, which is the last one.
        assert next(watch).data == b"second"


WATCHER = """
import sys, omr
with omr.Inbox.open(sys.argv[1]) as inbox:
    print("ready", flush=True)
    try:
        for letter in inbox.watch(every=600):
            pass
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    inbox.take()
print("closed", flush=True)
"""


def test_ctrl_c_leaves_a_watch_within_a_second(homes):
    seconds, rest = interrupt(WATCHER, homes / "ann")
    assert seconds < 1 and rest == "closed\n", (seconds, rest)


def test_a_watch_ends_from_another_thread(ann):
    watch = ann.watch(every=600)
    threading.Timer(0.2, watch.close).start()
    assert list(watch) == []


def test_letters_are_read_beside_a_program_that_fetches(ann, bob, homes):
    bob.send(ann.address, b"read beside a fetch")
    ann.take()
    (letter,) = [letter for letter in ann.letters() if letter.data == b"read beside a fetch"]
    with omr.Inbox.open(homes / "ann") as beside:
        assert [one.data for one in beside.letters() if one.number == letter.number] == [b"read beside a fetch"]
        assert (beside.kept(), beside.contacts, beside.address) == (ann.kept(), ann.contacts, ann.address)
        beside.mark_read(letter)
        assert letter.number not in [one.number for one in ann.letters()]
        calls = [
            beside.take,
            beside.watch,
            beside.retry_damaged,
            lambda: beside.raise_bound(3),
            lambda: beside.again(0, 1),
            lambda: beside.drop(0, 1),
        ]
        for call in calls:
            with pytest.raises(omr.InboxBusyError, match="open it again"):
                call()
        # The one that fetches goes on, and what it brings is there for both.
        bob.send(beside.address, b"brought by the other")
        assert [one.data for one in ann.take()] == [b"brought by the other"]
        assert beside.letters()[-1].data == b"brought by the other"
    ann.close()
    with omr.Inbox.open(homes / "ann") as again:
        assert list(again.take()) == []
    # The command watches, and Python reads.
    watch = [COMMAND, "watch", "--every", "600s", "--home", homes / "ann"]
    with subprocess.Popen(watch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as watching:
        try:
            deadline = time.monotonic() + 30
            while time.monotonic() < deadline:
                # Time for the command to begin: it ends where it finds the inbox open to fetch.
                time.sleep(2)
                with omr.Inbox.open(homes / "ann") as beside:
                    try:
                        beside.retry_damaged()
                    except omr.InboxBusyError:
                        break
            assert beside.closed and watching.poll() is None and time.monotonic() < deadline
            with omr.Inbox.open(homes / "ann") as beside:
                assert beside.letters(all=True)[-1].data == b"brought by the other"
        finally:
            watching.kill()


def test_errors_by_kind(ann, homes, url, tmp_path):
    with pytest.raises(omr.InboxBusyError):
        omr.Inbox.register(homes / "ann")
    with pytest.raises(omr.IdentityError):
        omr.Inbox.open(tmp_path)
    with pytest.raises(omr.IdentityError):
        omr.Inbox.create(homes / "bob", url)
    with pytest.raises(omr.OtherParamsError) as error:
        omr.Inbox.create(tmp_path / "other", url, params="sophomr-v5")
    assert (error.value.expected, error.value.found) == ("sophomr-v5", TINY)
    with pytest.raises(omr.PlanError):
        omr.Inbox.create(tmp_path / "other", url, bound=1 << 20)
    with pytest.raises(omr.AddressError):
        ann.send("nobody", b"x")
    with pytest.raises(omr.AddressError):
        ann.send(ann.address.replace("A", "B").replace("a", "b"), b"x")
    with pytest.raises(omr.AddressError):
        ann.remove_contact("nobody")
    with pytest.raises(omr.LetterError):
        ann.send(ann.address, b"x" * 100_000)
    for every in [0.0, -1.0, float("nan")]:
        with pytest.raises(ValueError, match="time between fetches"):
            ann.watch(every=every)
    ann.close()
    assert ann.closed
    with pytest.raises(omr.InboxClosedError):
        ann.take()


@pytest.mark.slow
def test_a_passphrase_opens_the_inbox(url, tmp_path):
    home = tmp_path / "locked"
    omr.Inbox.create(home, url, passphrase="open sesame").close()
    with pytest.raises(omr.PassphraseError):
        omr.Inbox.open(home)
    with pytest.raises(omr.PassphraseError):
        omr.Inbox.open(home, passphrase="other")
    with omr.Inbox.register(home, passphrase="open sesame") as inbox:
        assert len(inbox.take()) == 0

"""Measures the Python package at full size, for docs/performance.md: a wheel's installation into an empty environment and
the first digest there, what Python adds to a digest, how long Ctrl-C takes, and whether other threads run meanwhile.

`cargo xtask wheel --figures` builds the wheel of a release and runs this on it.
"""

import argparse
import json
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import venv

# On the board; a tenth of them is hers.
LETTERS = 100
# Seconds of a digest after which Ctrl-C is sent, in turn.
MOMENTS = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
# Seconds between two looks of the thread beside a digest.
TICK = 0.001


def first(folder):
    """Makes an identity, a key, a board, a digest of it and decodes that."""
    import omr

    alice, bob = omr.Identity.generate(), omr.Identity.generate()
    alice.save(folder / "alice", plain=True)
    alice.save_detection_key(folder / "alice" / "detection.key")
    with omr.Board.create(folder / "board") as board:
        board.post_many(((bob, alice)[i % 10 == 3].address, b"letter %d" % i) for i in range(LETTERS))
        detector = omr.Detector(folder / "alice" / "detection.key")
        digest = detector.digest(board)
    found = [bytes(letter) for letter in alice.decode(digest)]
    assert found == [b"letter %d" % i for i in range(3, LETTERS, 10)], found


def interrupted(folder):
    """Is sent Ctrl-C in the middle of a digest."""
    import omr

    detector = omr.Detector(folder / "alice" / "detection.key")
    board = omr.Board.open(folder / "board")
    print("ready", flush=True)
    try:
        detector.digest(board)
    except KeyboardInterrupt:
        print("interrupted", flush=True)


def watched(folder):
    """Makes a digest on one thread beside a thread that looks at the clock: prints what both saw."""
    import omr

    detector = omr.Detector(folder / "alice" / "detection.key", threads=1)
    ticks, over = [], threading.Event()

    def tick():
        while not over.wait(TICK):
            ticks.append(time.monotonic())

    with omr.Board.open(folder / "board") as board:
        threading.Thread(target=tick, daemon=True).start()
        start = time.monotonic()
        digest = detector.digest(board)
        seconds = time.monotonic() - start
        over.set()
    gaps = [after - before for before, after in zip(ticks, ticks[1:])]
    usual = statistics.median(gaps)
    print(
        json.dumps(
            {
                "digest_s": seconds,
                "added_s": seconds - sum(digest.stages.values()),
                "held_s": sum(gap - usual for gap in gaps if gap > 2 * usual),
                "longest_gap_s": max(gaps),
            }
        )
    )


def run(python, part, folder):
    """Runs a part of this file, and says what it prints."""
    return subprocess.run([python, __file__, "--part", part, folder], check=True, stdout=subprocess.PIPE).stdout


def ctrl_c(python, folder, after):
    """Seconds that Ctrl-C takes, `after` so many seconds of a digest."""
    child = subprocess.Popen(
        [python, __file__, "--part", "interrupted", folder],
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with child:
        assert child.stdout.readline() == b"ready\n"
        time.sleep(after)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == b"interrupted\n"
        return time.monotonic() - start


def measure(wheel, folder):
    start = time.monotonic()
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    made = time.monotonic()
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel]
    subprocess.run([python, *install], check=True)
    installed = time.monotonic()
    run(python, "first", folder)
    decoded = time.monotonic()
    seen = json.loads(run(python, "watched", folder))
    return {
        "wheel_bytes": wheel.stat().st_size,
        "environment_s": made - start,
        "install_s": installed - made,
        "first_digest_s": decoded - installed,
        "digest_s": seen["digest_s"],
        "added_share": seen["added_s"] / seen["digest_s"],
        "lock_free_share": 1 - seen["held_s"] / seen["digest_s"],
        "longest_gap_s": seen["longest_gap_s"],
        "ctrl_c_s": max(ctrl_c(python, folder, after) for after in MOMENTS),
    }


PARTS = {part.__name__: part for part in (first, interrupted, watched)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=pathlib.Path, help="the wheel, or the folder of a part")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args()
    if args.part:
        return PARTS[args.part](args.wheel)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(args.wheel.resolve(), pathlib.Path(folder))
    if args.json:
        return print(json.dumps(figures))
    for name, figure in figures.items():
        print(f"{name:18}{figure:>14,.4f}" if isinstance(figure, float) else f"{name:18}{figure:>14,}")


if __name__ == "__main__":
    sys.exit(main())

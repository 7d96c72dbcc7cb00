#!/usr/bin/env python3
"""How often a message of a query finds no bucket, and how many buckets of a page have room.

Usage: python3 reference/rounds_places.py [TRIALS]

A page has 1,824 messages. Each draws 4 of 64 buckets with 128 places; a bucket that is full is skipped. A query gives
each of 56 messages one of its buckets, and each bucket one message. Late messages of a page lie in fewer buckets,
because some are full. Before the last message, at least 900 of 8,192 places are free, so that 8 buckets have room at
least, whatever was drawn. Random numbers stand for the stream of a seed. Standard library, some minutes for 100,000.

    56 messages of               queries    with one left out    messages left out
    36 pages                      99,965                    3                    3
    one page                     100,000                    5                    6
    the end of one page          100,000                2,491                3,428

The fewest buckets with room before a last message: 48.
"""

import random
import sys

BUCKETS, CHOICES, POSITIONS, PAGE, PAGES, FETCHED = 64, 4, 128, 1824, 36, 56


def page(rng):
    """The buckets of each message, and how many buckets have room before the last one."""
    used, out = [0] * BUCKETS, []
    for _ in range(PAGE):
        room = sum(count < POSITIONS for count in used) if len(out) == PAGE - 1 else None
        own = []
        while len(own) < CHOICES:
            bucket = int(rng.random() * BUCKETS)
            if used[bucket] < POSITIONS and bucket not in own:
                own.append(bucket)
        for bucket in own:
            used[bucket] += 1
        out.append(own)
    return out, room


def left_out(messages):
    """How many messages a largest matching with buckets leaves out, by augmenting paths."""
    owners = {}

    def place(message, visited):
        for bucket in messages[message]:
            if bucket not in visited:
                visited.add(bucket)
                if bucket not in owners or place(owners[bucket], visited):
                    owners[bucket] = message
                    return True
        return False

    return sum(not place(message, set()) for message in range(len(messages)))


def main():
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    rng = random.Random(1)
    found = {"36 pages": [], "one page": [], "the end of one page": []}
    pages, least = [], BUCKETS
    for trial in range(trials):
        newest, room = page(rng)
        least = min(least, room)
        # A window whose oldest page goes.
        pages = [*pages[-(PAGES - 1) :], newest]
        anywhere = [pages[m // PAGE][m % PAGE] for m in rng.sample(range(len(pages) * PAGE), FETCHED)]
        if len(pages) == PAGES:
            found["36 pages"].append(left_out(anywhere))
        found["one page"].append(left_out(rng.sample(newest, FETCHED)))
        found["the end of one page"].append(left_out(newest[-FETCHED:]))
    print(f"{FETCHED} messages of               queries    with one left out    messages left out")
    for what, counts in found.items():
        print(f"{what:25} {len(counts):10,} {sum(map(bool, counts)):20,} {sum(counts):20,}")
    print(f"The fewest buckets with room before a last message: {least}")


if __name__ == "__main__":
    main()

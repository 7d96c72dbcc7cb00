#!/usr/bin/env python3
"""Known answers for tables: a file, its schema's fingerprint, rows in bytes (docs/table.md).

Usage: python3 reference/table.py [OUT]     (default: testdata/table/v1 beside this folder)

Rows are made as one whole number and read again before anything is written. Output is deterministic.
"""

import json
import pathlib
import struct
import sys

from xof import IV, blake3_tree, derive_hash

SALT = b"sixteen bytes, x"
COLUMNS = [("c0", "integer"), ("c1", "text"), ("c2", "boolean"), ("c3", "decimal"), ("c4", "text")]
MAX_BYTES, SCALE = 8, 2
ROWS = [
    (-300, "é", None, 1250, None),
    (5, "", None, None, "x"),
    (7, "abc", None, -5, "eight by"),
]


def values(column):
    return [row[column] for row in ROWS if row[column] is not None]


def domain(column):
    numbers = [] if COLUMNS[column][1] == "text" else values(column)
    return (min(numbers), max(numbers)) if numbers else None


def nullable(column):
    return len(values(column)) < len(ROWS)


def schema():
    kinds = {"text": {"text": {"max_bytes": MAX_BYTES}}, "decimal": {"decimal": {"scale": SCALE}}}
    columns = []
    for place, (name, kind) in enumerate(COLUMNS):
        ends = domain(place)
        columns.append(
            {
                "name": name,
                "kind": kinds.get(kind, kind),
                "nullable": nullable(place),
                "domain": ends and {"min": ends[0], "max": ends[1]},
            }
        )
    return {"name": "test", "rows": len(ROWS), "salt": list(SALT), "columns": columns}


def text(string):
    return struct.pack("<Q", len(string)) + string.encode()


def fingerprint():
    out = text("test") + struct.pack("<Q", len(ROWS)) + SALT + struct.pack("<Q", len(COLUMNS))
    for place, (name, kind) in enumerate(COLUMNS):
        number = ["boolean", "integer", "date", "timestamp", "decimal", "text"].index(kind)
        parameter = {"text": MAX_BYTES, "decimal": SCALE}.get(kind, 0)
        ends = domain(place)
        out += text(name) + bytes([number, parameter, nullable(place), ends is not None])
        out += struct.pack("<qq", *(ends or (0, 0)))
    return derive_hash("omr table schema v1", out)


def column_bytes(place):
    cells = [row[place] for row in ROWS]
    out = b""
    if nullable(place):
        bits = sum((cell is not None) << row for row, cell in enumerate(cells))
        out += bits.to_bytes((len(ROWS) + 7) // 8, "little")
    if COLUMNS[place][1] == "text":
        texts = [(cell or "").encode() for cell in cells]
        return out + bytes(len(text) for text in texts) + b"".join(texts)
    low, high = domain(place) or (0, 0)
    width = next(width for width in (1, 2, 4, 8) if high - low < 256**width)
    for cell in cells:
        out += (0 if cell is None else cell - low).to_bytes(width, "little")
    return out


def file():
    head = json.dumps(schema()).encode()
    body = b"".join(column_bytes(place) for place in range(len(COLUMNS)))
    total = 24 + len(head) + len(body) + 32
    out = b"OMRTABLE" + struct.pack("<IIQ", 1, len(head), total) + head + body
    return out + blake3_bytes(out)


def blake3_bytes(message):
    return struct.pack("<8I", *blake3_tree(IV, message, 0)[:8])


def states(place):
    ends = domain(place)
    return 1 if ends is None else ends[1] - ends[0] + 1 + nullable(place)


def row_bytes(row):
    """Mixed by powers of two, as one whole number."""
    number, bits, texts = 0, 0, b""
    for place, cell in enumerate(row):
        if COLUMNS[place][1] == "text":
            filled = b"\xfe" if cell is None else cell.encode()
            texts += filled.ljust(MAX_BYTES, b"\xff")
            continue
        state = 0 if cell is None else cell - domain(place)[0] + nullable(place)
        number += state << bits
        bits += (states(place) - 1).bit_length()
    return number.to_bytes((bits + 7) // 8, "little") + texts


def read_row(data):
    """The row again, by taking states off the number one after another."""
    texts = sum(kind == "text" for _, kind in COLUMNS)
    split = len(data) - texts * MAX_BYTES
    number, rest, row = int.from_bytes(data[:split], "little"), data[split:], []
    for place, (_, kind) in enumerate(COLUMNS):
        if kind == "text":
            cell, rest = rest[:MAX_BYTES].rstrip(b"\xff"), rest[MAX_BYTES:]
            row.append(None if cell == b"\xfe" else cell.decode())
            continue
        number, state = divmod(number, 1 << (states(place) - 1).bit_length())
        assert state < states(place)
        absent = nullable(place) and state == 0
        row.append(None if absent else state - nullable(place) + domain(place)[0])
    assert number == 0
    return tuple(row)


def main():
    beside = pathlib.Path(__file__).parent.parent / "testdata/table/v1"
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else beside
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row_bytes(row) for row in ROWS]
    assert [read_row(row) for row in rows] == ROWS
    answers = {"fingerprint": fingerprint().hex(), "rows": [row.hex() for row in rows]}
    (folder / "small.table").write_bytes(file())
    (folder / "small.json").write_text(json.dumps(answers, indent=1) + "\n")


if __name__ == "__main__":
    main()

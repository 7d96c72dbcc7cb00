#!/usr/bin/env python3
"""Arithmetic against bytes of the large stages of a digest: counts, tables and `docs/roofline.svg`.

Usage: python3 reference/roofline.py

Counts follow from the shape of `sophomr-v2` and from the code that `evidence/lab/src/measure/cost` mirrors
too; the number of transforms is the same there. Arithmetic is counts times the speed of each kernel
on rows in cache, bytes are counts of rows times the bandwidth of memory; both speeds were measured
on the machine of docs/performance.md. Neither time can be undercut without doing less; a stage
takes at least the longer one, and at most their sum where nothing overlaps. Standard library.
"""

import pathlib

N = 65_536
ROW = 8 * N  # bytes of a row, one prime
TABLE = 2 * ROW  # twiddles of a prime, one way, with their quotients

# Seconds a row on rows in cache, AVX-512 IFMA.
SPEEDS = {
    "transforms": 92e-6,
    "products": 5e-6,  # sums of 64
    "short": 20e-6,  # sums of 2, a reduction each
    "converted": 4e-6,
    "passes": 14e-6,
}
# Bytes a second: memory, one thread.
READ, WRITE, STREAM = 15e9, 10e9, 24e9

# The set: limbs of level 0, of levels 1 .. 29, and special primes of each key.
TOP, LIMBS = 24, [None, *range(30, 1, -1)]
STEP, GIANT, RELIN = 12, 11, 11
DIAGONALS, BABY, COORDINATES, TOGETHER = 1024, 64, 2, 4
PRODUCT_DIGIT = 15  # primes


class Work:
    """Rows by kind: what is done with them, then those read, written, streamed past caches.

    `products` are those of long sums, `short` those of key switches.
    """

    FIELDS = (*SPEEDS, "read", "written", "streamed")

    def __init__(self, **counts):
        self.counts = {field: counts.get(field, 0) for field in self.FIELDS}

    def __add__(self, other):
        return Work(**{f: self.counts[f] + other.counts[f] for f in self.FIELDS})

    def __mul__(self, times):
        return Work(**{f: self.counts[f] * times for f in self.FIELDS})

    def arithmetic(self):
        return sum(self.counts[field] * seconds for field, seconds in SPEEDS.items())

    def bytes(self):
        return [self.counts[field] * ROW for field in self.FIELDS[len(SPEEDS) :]]

    def traffic(self):
        return sum(b / speed for b, speed in zip(self.bytes(), (READ, WRITE, STREAM)))


def key_switch(limbs, digits, special, kept, inputs=1, permuted=False):
    """`KeySwitch::apply` in `crates/rlwe/src/hybrid.rs`; additions are passes."""
    every, dropped = limbs + special, limbs + special - kept
    raised = sum(every - own for own in digits)
    # Twiddles: once a prime and way, for every input where its digits are taken apart.
    tables = (limbs * inputs + every + dropped) * TABLE // ROW
    each = Work(
        transforms=limbs + raised + 2 * (dropped + kept),
        short=2 * len(digits) * every,
        converted=sum((own + 1) * (every - own) + own for own in digits)
        + 2 * ((dropped + 1) * kept + dropped),
        passes=2 * (limbs - kept) + 2 * kept + (2 * kept if permuted else 0),
        # Input and what is added; coefficients; digits; what is divided out; differences.
        read=2 * limbs + limbs + raised + 2 * dropped + 2 * kept,
        written=limbs + raised + 2 * dropped + 2 * kept + 2 * kept,
    )
    return each * inputs + Work(read=2 * len(digits) * every + tables)


def relinearise(level, terms=1):
    """`terms` products of ciphertexts, summed, relinearised to the next level."""
    limbs = LIMBS[level]
    digits = [limbs - PRODUCT_DIGIT, PRODUCT_DIGIT] if limbs > PRODUCT_DIGIT else [limbs]
    # Four products a term; copies and operands come from memory.
    tensor = Work(passes=7 * limbs, read=7 * limbs, written=3 * limbs) * terms
    return tensor + key_switch(limbs, digits, RELIN, limbs - 1)


def drop(level, to):
    """`Evaluator::at_level`."""
    limbs, kept = (TOP, LIMBS[to]) if level == 0 else (LIMBS[level], LIMBS[to])
    dropped = limbs if level == 0 else limbs - kept
    if not dropped:
        return Work(passes=2 * limbs, read=2 * limbs, written=2 * limbs)
    return Work(
        transforms=2 * (dropped + kept),
        converted=2 * ((dropped + 1) * kept + dropped),
        passes=2 * dropped + 4 * kept,
        read=2 * (limbs + dropped + 2 * kept) + (dropped + kept) * TABLE // ROW,
        written=2 * (dropped + 2 * kept),
    )


def baby_steps():
    turned = key_switch(TOP, [12, 12], STEP, TOP, permuted=True)
    return (turned + Work(passes=2 * TOP, read=2 * TOP, written=2 * TOP)) * BABY


def affine():
    giants = DIAGONALS // BABY
    rows = DIAGONALS * TOP
    encoded = Work(
        # Modulo p once, then modulo each prime; read as halves, streamed out, read for the products.
        transforms=DIAGONALS + rows,
        passes=rows,
        read=rows // 2 + rows,
        streamed=rows,
    )
    window = Work(read=giants // TOGETHER * TOP * 2 * (BABY + 1))
    sums = Work(products=2 * COORDINATES * rows, written=giants * COORDINATES * 2 * TOP)
    turned = key_switch(TOP, [12, 12], GIANT, TOP, inputs=COORDINATES, permuted=True)
    added = Work(passes=4 * TOP, read=8 * TOP, written=4 * TOP)
    lowered = (drop(0, 1) + Work(transforms=1 + LIMBS[1], passes=4 * LIMBS[1])) * COORDINATES
    return encoded + window + sums + (turned + added) * (giants - 1) + lowered


def total(works):
    return sum(works, Work())


def window():
    """`RangePolynomial::evaluate`: degree 39, blocks of 8."""
    levels = {1: 2}
    work = relinearise(1)
    for k in range(2, 9):
        half = 1 << (k - 1).bit_length() - 1
        work += drop(levels[k - half], levels[half]) + relinearise(levels[half])
        levels[k] = levels[half] + 1
    top = levels[8]
    work += total(drop(level, top) for level in levels.values())
    giants = [(top, top + 1), (top + 1, top + 1), (top, top + 2), (top + 1, top + 2)]
    work += relinearise(top) + total(drop(*pair) for pair in giants)
    blocks = [top + 1] * 3 + [top + 2] * 2
    terms = 2 * LIMBS[top] * (35 + 5)
    work += Work(passes=terms, read=2 * terms, written=terms)
    work += total(drop(top, level) for level in blocks)
    return work + relinearise(top + 1, 2) + relinearise(top + 2, 2)


def range_check():
    power = total(relinearise(level) for level in range(9, 29)) + drop(9, 10)
    return window() * COORDINATES + relinearise(8, 2) + power


STAGES = {"baby steps": baby_steps(), "affine transform": affine(), "range check": range_check()}


def bar(x, y, seconds, scale, colour, label):
    width = seconds * scale
    return (
        f'<rect x="{x}" y="{y}" width="{width:.0f}" height="18" fill="{colour}"/>'
        f'<text x="{x + width + 6:.0f}" y="{y + 14}">{label}</text>'
    )


def picture():
    scale, left, height = 90, 140, 66
    lines = []
    for i, (name, work) in enumerate(STAGES.items()):
        y = 40 + i * height
        arithmetic, traffic = work.arithmetic(), work.traffic()
        gigabytes = sum(work.bytes()) / 1e9
        lines.append(f'<text x="8" y="{y + 24}">{name}</text>')
        lines.append(bar(left, y, arithmetic, scale, "#3b6ea5", f"arithmetic {arithmetic:.1f} s"))
        label = f"{gigabytes:.0f} GB, {traffic:.1f} s"
        lines.append(bar(left, y + 22, traffic, scale, "#c77d2e", label))
    body = "\n".join(lines)
    size = f'width="760" height="{40 + len(STAGES) * height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="13">\n'
        '<rect width="100%" height="100%" fill="#ffffff"/>\n'
        '<text x="8" y="22">Least seconds of each stage, one thread: kernels in cache, bytes at the '
        "speed of memory</text>\n"
        f"{body}\n</svg>\n"
    )


def main():
    print("| stage | " + " | ".join(SPEEDS) + " | read, GB | written | streamed | s | s of bytes |")
    for name, work in [*STAGES.items(), ("sum", total(STAGES.values()))]:
        counts = " | ".join(f"{work.counts[field]:,}" for field in SPEEDS)
        moved = " | ".join(f"{b / 1e9:.1f}" for b in work.bytes())
        seconds = f"{work.arithmetic():.2f} | {work.traffic():.2f}"
        print(f"| {name} | {counts} | {moved} | {seconds} |")
    docs = pathlib.Path(__file__).resolve().parent.parent / "docs"
    (docs / "roofline.svg").write_text(picture())


if __name__ == "__main__":
    main()

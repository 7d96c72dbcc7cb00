"""The table of resources from yosys' statistics, and build/cycles.json: table.py BUILD."""

import json
import re
import sys
from pathlib import Path

BUILD = Path(sys.argv[1])
# Operators, and the modules of the engine that they are made of.
OPERATORS = {
    "mont_mul": "one multiplier",
    "butterfly": "one butterfly",
    "ntt_core": "NTT and inverse, 64 butterflies",
    "ccadd": "CCadd, 128 lanes",
    "pcmul": "PCmul, one lane",
    "automorphism_lanes": "automorphism, 128 lanes",
    "row_unit": "CCadd, PCmul, automorphism, 128 lanes",
    "bconv_lane": "base conversion, one lane",
    "bconv_unit": "base conversion, 128 lanes",
    "engine": "the whole",
}
COLUMNS = ["dsp", "bram36", "uram", "lut", "ff"]


def modules(text):
    """Cells of each module of a `stat`, by name of the module."""
    found = {}
    for name, body in re.findall(r"^=== (\S+) ===\n(.*?)(?=^===|\Z)", text, re.M | re.S):
        cells = re.findall(r"^ {5}(\S+) +(\d+)$", body, re.M)
        found[name] = {cell: int(count) for cell, count in cells}
    return found


def resources(name, found, known):
    """What a module takes with all that it contains."""
    if name not in known:
        total = dict.fromkeys(COLUMNS, 0)
        for cell, count in found[name].items():
            if cell in found:
                part = resources(cell, found, known)
            else:
                part = primitive(cell)
            for column in COLUMNS:
                total[column] += count * part[column]
        known[name] = total
    return known[name]


def primitive(cell):
    """A cell of the device. LUTs count as memory and shift registers too."""
    part = dict.fromkeys(COLUMNS, 0)
    if cell == "DSP48E2":
        part["dsp"] = 1
    elif cell.startswith("RAMB36"):
        part["bram36"] = 1
    elif cell.startswith("RAMB18"):
        part["bram36"] = 0.5
    elif cell.startswith("URAM288"):
        part["uram"] = 1
    elif cell.startswith("FD"):
        part["ff"] = 1
    elif cell.startswith(("LUT", "SRL", "INV")):
        part["lut"] = 1
    elif cell.startswith("RAM"):
        part["lut"] = {"RAM32M": 4, "RAM64M": 4, "RAM32M16": 8, "RAM64M8": 8}.get(cell, 1)
    return part


def module_of(operator, found):
    """The module's name, with or without the parameters that yosys puts around it."""
    pattern = re.compile(rf"(\$paramod(\$[0-9a-f]+)?)?\\?{operator}(\\.*)?")
    return [name for name in found if pattern.fullmatch(name)]


def table():
    found = modules((BUILD / "syn/engine.stat").read_text())
    known, rows = {}, {}
    for operator in OPERATORS:
        for name in module_of(operator, found):
            rows[operator] = resources(name, found, known)
    flat = modules((BUILD / "syn/mul_bench-60.stat").read_text())
    rows["mont_mul 60 bits"] = resources("mul_bench", flat, {})
    return rows


def main():
    rows = table()
    print("| module | | DSP48E2 | BRAM36 | URAM | LUT | FF |\n|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        what = OPERATORS.get(name, "one multiplier")
        print(f"| {name} | {what} | " + " | ".join(f"{row[c]:,g}" for c in COLUMNS) + " |")
    limits = {"mont_mul": 12, "mont_mul 60 bits": 20}
    for name, most in limits.items():
        if rows[name]["dsp"] > most:
            sys.exit(f"{name}: expected at most {most} DSP48E2, found {rows[name]['dsp']}")
    (BUILD / "resources.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

"""The table of resources from yosys' statistics, and build/cycles.json: table.py BUILD."""

import json
import re
import sys
from pathlib import Path

BUILD = Path(sys.argv[1])
# Operators, and whether they grow with the lanes. An eighth of the engine is synthesised: 16 lanes
# with memories as deep as those of 128.
OPERATORS = {
    "mont_mul": ("one multiplier", False),
    "butterfly": ("one butterfly", False),
    "pcmul": ("PCmul, one lane", False),
    "bconv_lane": ("base conversion, one lane", False),
    "ccadd": ("CCadd", True),
    "automorphism_lanes": ("automorphism", True),
    "ntt_core": ("NTT and inverse", True),
    "row_unit": ("CCadd, PCmul and automorphism", True),
    "bconv_unit": ("base conversion", True),
    "executor": ("all of these", True),
    "rot": ("schedule of a rotation", False),
    "matmul": ("schedule of a product", False),
    "engine": ("the whole", False),
    "sum_lane": ("16 lanes of sums, a reducer", False),
    "sum_lane_8": ("16 lanes of sums, two reducers", False),
    "bconv_sums": ("base conversion on lanes of sums, 128 lanes", False),
    "weigher": ("what weighs for 12 lanes", False),
    "control of sum_lane": ("once for all lanes", False),
    "control of sum_lane_8": ("once for all lanes", False),
}
EIGHTHS = 8
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
    """Resources by module for 128 lanes."""
    found = modules((BUILD / "syn/engine.stat").read_text())
    known, rows = {}, {}
    for operator, (_, lanes) in OPERATORS.items():
        for name in module_of(operator, found):
            row = resources(name, found, known)
            rows[operator] = {c: row[c] * (EIGHTHS if lanes else 1) for c in COLUMNS}
    eighth = {c: rows["executor"][c] / EIGHTHS for c in COLUMNS}
    for column in COLUMNS:
        rows["engine"][column] += rows["executor"][column] - eighth[column]
    for share, operator in ((16, "sum_lane"), (8, "sum_lane_8")):
        found, known = modules((BUILD / f"syn/sums-{share}.stat").read_text()), {}
        for name in module_of("sum_group", found):
            group = resources(name, found, known)
            rows[operator] = {c: group[c] * 16 // share for c in COLUMNS}
        rows[f"control of {operator}"] = resources(module_of("sum_lanes", found)[0], found, known)
        for column in COLUMNS:
            rows[f"control of {operator}"][column] -= rows[operator][column]
    found, known = modules((BUILD / "syn/bconv-sums.stat").read_text()), {}
    whole = resources(module_of("bconv_sums", found)[0], found, known)
    rows["bconv_sums"] = whole
    rows["weigher"] = resources(module_of("weigher", found)[0], found, known)
    flat = modules((BUILD / "syn/mul_bench-60.stat").read_text())
    rows["mont_mul of 60 bits"] = resources("mul_bench", flat, {})
    return rows


def main():
    rows = table()
    print("| module | | DSP48E2 | BRAM36 | URAM | LUT | FF |\n|---|---|---|---|---|---|---|")
    for name, row in rows.items():
        what, lanes = OPERATORS.get(name, ("one multiplier", False))
        what += ", 128 lanes (8 x 16)" if lanes else ""
        print(f"| {name} | {what} | " + " | ".join(f"{row[c]:,.0f}" for c in COLUMNS) + " |")
    limits = {"mont_mul": 12, "mont_mul of 60 bits": 20}
    for name, most in limits.items():
        if rows[name]["dsp"] > most:
            sys.exit(f"{name}: expected at most {most} DSP48E2, found {rows[name]['dsp']}")
    (BUILD / "resources.json").write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

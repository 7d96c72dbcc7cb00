"""Writes BUILD/cycles.json: model/cycles.json with what the testbenches and the synthesis measured in its place.

Usage: cycles.py BUILD. Measurements at n = 65,536 stand over those at n = 1,024. What was measured now must be the
same as in model/cycles.json, which is kept.
"""

import json
import sys
from pathlib import Path

BUILD = Path(sys.argv[1])
KEPT = Path(__file__).parent.parent / "model/cycles.json"
# Which module's resources an operator takes.
MODULES = {
    "ntt": "ntt_core", "intt": "ntt_core", "ccadd": "ccadd", "pcmul": "row_unit",
    "dot": "row_unit", "automorphism": "automorphism_lanes", "bconv": "bconv_unit", "bconv_sums": "bconv_sums",
    "sum_lane": "sum_lane", "sum_lane_8": "sum_lane_8", "keyswitch": "engine", "rot": "engine", "rot_giant": "engine",
}


def read(name):
    path = BUILD / name
    return json.loads(path.read_text()) if path.exists() else {}


def cycles():
    """Cycles of each operator that a testbench ran."""
    toy, full, giant = read("toy.json"), read("full-step.json"), read("full-giant.json")
    rows = {f"{name}_toy": row for name, row in toy.items()} | full
    for share, name in ((16, "sum_lane"), (8, "sum_lane_8")):
        rows |= {name: row for row in read(f"sums-{share}.json").values()}
    # At full size conversions are on lanes of sums.
    for suffix, sums in (("_toy", read("toy-sums.json")), ("", full)):
        for name in ("bconv", "bconv_half"):
            if name in sums:
                rows[f"{name}_sums{suffix}"] = sums[name]
                if not suffix:
                    del rows[name]
    if "matmul" in toy:
        rows["matmul"] = rows.pop("matmul_toy")
    if "rot" in giant:
        rows["rot_giant"] = giant["rot"]
    if "rot" in full:
        # A key switch is a rotation whose rows are written in place.
        rows["keyswitch"] = dict(full["rot"])
    return rows


def same(field, value, found):
    """Mapping to LUTs depends on the order of the input."""
    return found == value or field == "lut" and found and abs(value / found - 1) < 0.02


def main():
    kept, rows, resources = json.loads(KEPT.read_text()), cycles(), read("resources.json")
    for name, module in MODULES.items():
        # Resources are those of 128 lanes, and of 16 lanes of sums.
        if module in resources and (name in kept or name in rows):
            rows.setdefault(name, {}).update(resources[module])
    if not rows:
        sys.exit(f"{BUILD}: nothing was measured")
    merged = {name: kept.get(name, {}) | rows.get(name, {}) for name in kept | rows}
    (BUILD / "cycles.json").write_text(json.dumps(merged, indent=1) + "\n")
    for name, row in rows.items():
        for field, value in row.items():
            found = kept.get(name, {}).get(field)
            if not same(field, value, found):
                sys.exit(f"{KEPT}: {name}: {field}: expected {value} as measured, found {found}")
    print(f"{len(rows)} operators as in {KEPT.name}")


if __name__ == "__main__":
    main()

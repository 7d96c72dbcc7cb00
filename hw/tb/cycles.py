"""Writes BUILD/cycles.json from what the testbenches and the synthesis measured.

Usage: cycles.py BUILD. Measurements at n = 65,536 stand over those at n = 1,024. With model/cycles.json,
which is kept, it compares what was measured now: it must be the same.
"""

import json
import sys
from pathlib import Path

BUILD = Path(sys.argv[1])
KEPT = Path(__file__).parent.parent / "model/cycles.json"
# Which module's resources an operator takes.
MODULES = {
    "ntt": "ntt_core", "intt": "ntt_core", "ccadd": "ccadd", "pcmul": "row_unit",
    "dot": "row_unit", "automorphism": "automorphism_lanes", "bconv": "bconv_unit",
    "sum_lane": "sum_lane", "sum_lane_8": "sum_lane_8", "keyswitch": "engine", "rot": "engine", "matmul": "engine",
}


def read(name):
    path = BUILD / name
    return json.loads(path.read_text()) if path.exists() else {}


def main():
    toy, full, giant = read("toy.json"), read("full-step.json"), read("full-giant.json")
    rows = {f"{name}_toy": row for name, row in toy.items()} | full
    for share, name in ((16, "sum_lane"), (8, "sum_lane_8")):
        rows |= {name: row for row in read(f"sums-{share}.json").values()}
    sums = read("toy-sums.json")
    if "bconv" in sums:
        rows["bconv_sums_toy"] = sums["bconv"]
    if "matmul" in toy:
        rows["matmul"] = rows.pop("matmul_toy")
    if "rot" in giant:
        rows["rot_giant"] = giant["rot"]
    if "rot" in full:
        # A key switch is a rotation whose rows are written in place.
        rows["keyswitch"] = dict(full["rot"])
    resources = read("resources.json")
    for name, row in rows.items():
        # Resources are those of 128 lanes, and of 16 lanes of sums.
        if row["lanes"] == 128 or name.startswith("sum_lane"):
            row.update(resources.get(MODULES[name.removesuffix("_giant")], {}))
    (BUILD / "cycles.json").write_text(json.dumps(rows, indent=1) + "\n")
    kept = json.loads(KEPT.read_text())
    for name, row in rows.items():
        for field, value in row.items():
            found = kept.get(name, {}).get(field)
            # Mapping to LUTs depends on the order of the input.
            near = field == "lut" and found and abs(value / found - 1) < 0.02
            if found != value and not near:
                sys.exit(f"{KEPT}: {name}: {field}: expected {value} as measured, found {found}")
    print(f"{len(rows)} operators as in {KEPT.name}")


if __name__ == "__main__":
    main()

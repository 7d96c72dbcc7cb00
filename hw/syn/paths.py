"""The longest path between registers of a flat netlist, in cells: paths.py NETLIST.json..."""

import json
import sys
from functools import lru_cache

# Outputs of these come from a register or a memory.
KEEPS = ("FD", "SRL", "RAM")


def keeps(cell):
    """Whether a cell ends paths: a DSP48E2 where it has its registers, which is where its sum has one."""
    registers = cell["parameters"].get("PREG", "0")
    return cell["type"].startswith(KEEPS) or cell["type"] == "DSP48E2" and int(registers, 2) == 1


sys.setrecursionlimit(100_000)


def longest(path):
    """Products, LUTs and pieces of four bits of a carry chain on the longest path."""
    with open(path) as file:
        module = max(json.load(file)["modules"].values(), key=lambda m: len(m["cells"]))
    drivers = {}
    for name, cell in module["cells"].items():
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) == "output":
                drivers.update(dict.fromkeys(bits, name))

    @lru_cache(None)
    def depth(name):
        """The longest chain of cells that ends in this one."""
        cell = module["cells"][name]
        before = [()]
        for port, bits in cell["connections"].items():
            if cell["port_directions"].get(port) != "input":
                continue
            for source in {drivers[bit] for bit in bits if bit in drivers}:
                if not keeps(module["cells"][source]):
                    before.append(depth(source))
        return max(before, key=len) + (cell["type"],)

    cells = max((depth(name)[:-1] if keeps(cell) else depth(name)
                 for name, cell in module["cells"].items()), key=len)
    count = lambda *kinds: sum(cell.startswith(kinds) for cell in cells)
    return count("DSP"), count("LUT", "INV", "MUXF"), count("CARRY")


for path in sys.argv[1:]:
    products, luts, carries = longest(path)
    print(f"{path}: longest path {products} DSP48E2, {luts} LUTs, {carries} pieces of 4 bits of carry chains")

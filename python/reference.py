"""Writes the reference of the package as HTML: `reference.py FOLDER`."""

import pathlib
import sys

import pdoc
import pdoc.doc_pyi

# The classes are compiled, and their stubs describe them under every name by which they are imported.
find = pdoc.doc_pyi.find_stub_file
stubs = find("omr._omr")
pdoc.doc_pyi.find_stub_file = lambda module: stubs if module in ("omr", "omr.pdq", "omr.ray") else find(module)
pdoc.render.configure(docformat="google", search=True)
pdoc.pdoc("omr", "omr.pdq", "omr.ray", "!omr._omr", output_directory=pathlib.Path(sys.argv[1]))

"""Runs the tests of this folder: `cargo xtask python` does it in an environment with requirements.txt.

OMR_COMMAND names the command `omr`. The stubs of proto/ are made in a folder of their own each time.
"""

import pathlib
import sys
import tempfile
import unittest

from grpc_tools import protoc

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parent.parent / "proto"


def make_stubs(folder):
    """Python modules of the public protocol."""
    files = [str(path) for path in sorted((PROTO / "omr" / "v1").glob("*.proto"))]
    args = ["protoc", f"-I{PROTO}", f"--python_out={folder}", f"--grpc_python_out={folder}", *files]
    if protoc.main(args):
        raise SystemExit("protoc failed")


def main():
    with tempfile.TemporaryDirectory(prefix="omr-python-") as stubs:
        make_stubs(stubs)
        sys.path[:0] = [stubs, str(HERE)]
        tests = unittest.defaultTestLoader.discover(str(HERE))
        passed = unittest.TextTestRunner(verbosity=2).run(tests).wasSuccessful()
    raise SystemExit(not passed)


if __name__ == "__main__":
    main()

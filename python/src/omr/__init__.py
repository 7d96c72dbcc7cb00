"""Oblivious message retrieval: find your messages on a public board without telling anybody which.

>>> import omr, tempfile
>>> alice = omr.Identity.generate("insecure-tiny-v3")  # a set for tests; the default is secure
>>> with omr.Board.create(tempfile.mkdtemp(), params="insecure-tiny-v3") as board:
...     where = board.post(alice.address, b"hello Alice", name="letter.txt")
...     digest = omr.Detector(alice.detection_key()).digest(board)
>>> [(letter.index, letter.name, letter.data) for letter in alice.decode(digest)]
[(0, 'letter.txt', b'hello Alice')]
"""

from omr._omr import (
    Board,
    BoardInfo,
    Client,
    Decoded,
    Detector,
    Digest,
    Identity,
    Incomplete,
    LeftOut,
    Letter,
    Message,
    Messages,
    ParameterSet,
    Retrieved,
    Session,
    parameter_sets,
)
from omr.errors import (
    AccessError,
    BoardBusyError,
    BoardClosedError,
    BoardError,
    DecodeError,
    DetectorError,
    DigestOverflowError,
    FileError,
    LetterError,
    OmrError,
    OtherKeyError,
    OtherParamsError,
    ParamsError,
    PassphraseError,
    PlanError,
    ServerError,
    UnreachableError,
    UnsealedWarning,
)

__all__ = [
    "AccessError",
    "Board",
    "BoardBusyError",
    "BoardClosedError",
    "BoardError",
    "BoardInfo",
    "Client",
    "DecodeError",
    "Decoded",
    "Detector",
    "DetectorError",
    "Digest",
    "DigestOverflowError",
    "FileError",
    "Identity",
    "Incomplete",
    "LeftOut",
    "Letter",
    "LetterError",
    "Message",
    "Messages",
    "OmrError",
    "OtherKeyError",
    "OtherParamsError",
    "ParameterSet",
    "ParamsError",
    "PassphraseError",
    "PlanError",
    "Retrieved",
    "ServerError",
    "Session",
    "UnreachableError",
    "UnsealedWarning",
    "parameter_sets",
]

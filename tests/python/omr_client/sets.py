"""Parameter sets as a client needs them (docs/wire.md, sections 4, 7 and 8)."""

from dataclasses import dataclass

from .streams import derive

P = 786433

# Thresholds of narrow Gaussian errors of senders by their parameter: section 8.
NARROW = {
    "0.4775": [7538572897413798467, 9221034113024803944, 9223371996401604628, 9223372036854767091],
}


@dataclass(frozen=True)
class Set:
    """What senders and readers of SophOMR digests need to know."""

    name: str
    # Clue ring, weight of `x`, narrow Gaussian of the errors, coordinates of `b`, modulus of posted residues.
    n: int
    weight: int
    sigma: str
    coordinates: int
    rounded: int = P
    # Modulus of the clue ring.
    q: int = P
    # Large, small and final ring of SophOMR; 0 where the set does not have it.
    large: int = 1 << 16
    small: int = 1 << 13
    final: int = 1 << 11
    # InstantOMR: its ring and the messages of a group.
    rotation: int = 2048
    group: int = 1 << 16
    # Two rounds: the ring of scans, messages of a block and of a page, buckets, messages that a query asks for.
    scan: int = 1 << 11
    block: int = 512
    page: int = 1824
    buckets: int = 64
    fetched: int = 56
    # Whether residues are posted without their lowest bit, which stands for errors of the sender's.
    halved: bool = False
    # Coordinates of `b` that are of a second clue secret, InstantOMR's: the last ones.
    second: int = 0

    @property
    def tag(self):
        """Four bytes that stand for the set in clues."""
        return derive("omr params tag v1", self.name.encode())[:4]

    @property
    def secrets(self):
        """For each clue secret, how many coordinates of `b` are its own."""
        return [self.coordinates - self.second, self.second] if self.second else [self.coordinates]

    @property
    def beta_length(self):
        """Residues of all betas of an address, and coefficients of all clue secrets."""
        return self.n * len(self.secrets)

    @property
    def width(self):
        """Bits of a posted residue."""
        return (self.q.bit_length() - 1) if self.halved else (self.rounded - 1).bit_length()

    @property
    def beta_width(self):
        """Bits of a residue of an address."""
        return (self.q - 1).bit_length()

    @property
    def thresholds(self):
        """Those of its errors."""
        return NARROW[self.sigma]

    def post(self, residues):
        """Residues modulo q as they are posted."""
        if self.halved:
            return [int(v) >> 1 for v in residues]
        return [(int(v) * self.rounded + self.q // 2) // self.q % self.rounded for v in residues]


TINY = {
    **{"large": 1 << 11, "small": 1 << 8, "final": 1 << 6, "rotation": 512, "group": 1 << 12},
    **{"scan": 1 << 8, "block": 64, "page": 48, "buckets": 16, "fetched": 14},
}

# Clues that are opened.
OPENED = {"rounded": 4188161, "q": 4188161}

# InstantOMR alone.
ALONE = {"rounded": 1 << 10, "large": 0, "small": 0, "final": 0, "group": 1 << 15}

SETS = {
    of.name: of
    for of in (
        Set("sophomr-v5", 1024, 316, "none", 2, halved=True, **OPENED),
        Set("hybrid-v4", 1024, 316, "none", 6, halved=True, second=4, **OPENED),
        Set("instantomr-v2", 1024, 140, "0.4775", 5, **ALONE),
        Set("insecure-tiny-v4", 64, 16, "none", 2, halved=True, **TINY, **OPENED),
        Set("insecure-tiny-hybrid-v4", 64, 16, "none", 6, halved=True, second=4, **TINY, **OPENED),
    )
}

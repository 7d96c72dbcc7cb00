#!/usr/bin/env python3
"""Bits of security of the large keys: primal attacks on LWE in the geometric series model.

Usage: python3 reference/security.py

Costs are those of MATZOV (2022): BKZ in dimension d with block size b takes C (d - b) calls of a
sieve of 2^(0.29614 b' + 20.388) operations, b' = b minus the dimensions for free (Ducas 2018),
C = 1 / (1 - 2^-0.29614). The Hermite factor is Chen's (2013). Two attacks: uSVP (Alkim, Ducas,
Poppelmann, Schwabe 2016, Bai-Galbraith embedding), and BDD, where a last larger sieve in dimension
eta finds the short vector in a basis that is reduced less.

The values of lattice-estimator (commit 27a581bb8e9d49f5e9e2db315bd48ac769d5f5f5) that the project
took its limits from are listed in KNOWN; the script says how far it is from each. It serves to move
the estimate from 1724 bits to the modulus of a parameter set, no more. Standard library; seconds.
"""

import math

A, B = 0.29613500308205365, 20.387885985467914
ROUNDS = 1 / (1 - 2**-A)
ERROR = 3.19  # the estimates' error; ours, 3.24, is larger

TERNARY = math.sqrt(2 / 3)
SPARSE = math.sqrt(4096 / 65536)

# dimension, log2 of the modulus, standard deviation of the secret, attack, bits
KNOWN = [
    (65536, 1746, TERNARY, "bdd", 128.0),
    (65536, 1740, TERNARY, "bdd", 128.7),
    (32768, 868, TERNARY, "bdd", 128.0),
    (32768, 917, TERNARY, "bdd", 120.9),
    (65536, 1724, SPARSE, "usvp", 129.9),
    (65536, 1724, SPARSE, "bdd", 129.6),
]


def log2_hermite(block):
    grow = (math.pi * block) ** (1 / block) * block / (2 * math.pi * math.e)
    return math.log2(grow) / (2 * (block - 1))


def log2_sieve(dimension):
    free = dimension * math.log(4 / 3) / math.log(dimension / (2 * math.pi * math.e))
    return A * (dimension - max(free, 0)) + B


def log2_bkz(block, dimension):
    return math.log2(ROUNDS * ROUNDS * (dimension - block)) + log2_sieve(block)


def log2_tail_vector(block, tail, dimension, n, log_q, secret):
    """log2 of the Gram-Schmidt vector `tail` places before the end; secret scaled to the error."""
    volume = (dimension - n - 1) * log_q + n * math.log2(ERROR / secret) + math.log2(ERROR)
    return (2 * tail - dimension - 1) * log2_hermite(block) + volume / dimension


def best_dimension(block, n, log_q, secret):
    """The number of coordinates that makes the last vectors longest."""
    near = math.sqrt(n * (log_q - math.log2(ERROR / secret)) / log2_hermite(block))
    return max(n + 2, round(near))


def least(lowest, works):
    high = lowest
    while not works(high):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return high


def finds(block, tail, n, log_q, secret):
    dimension = best_dimension(block, n, log_q, secret)
    longest = log2_tail_vector(block, tail, dimension, n, log_q, secret)
    return math.log2(tail) / 2 + math.log2(ERROR) <= longest


def usvp(n, log_q, secret):
    block = least(64, lambda b: finds(b, b, n, log_q, secret))
    return log2_bkz(block, best_dimension(block, n, log_q, secret)), block


def bdd(n, log_q, secret):
    _, at_most = usvp(n, log_q, secret)

    def cost(block):
        tail = least(block, lambda t: finds(block, t, n, log_q, secret))
        reduce = log2_bkz(block, best_dimension(block, n, log_q, secret))
        search = math.log2(ROUNDS) + log2_sieve(tail)
        return max(reduce, search) + math.log2(1 + 2 ** -abs(reduce - search))

    return min((cost(block), block) for block in range(at_most - 24, at_most + 1))


def bits(attack, *instance):
    return {"usvp": usvp, "bdd": bdd}[attack](*instance)[0]


def main():
    print("    n  log2 q  secret  attack  lattice-estimator  here")
    for n, log_q, secret, attack, known in KNOWN:
        print(f"{n:5}  {log_q:6}  {secret:6.3f}  {attack:6}  {known:17.1f}  "
              f"{bits(attack, n, log_q, secret):.2f}")
    print("\nweight 4096 in dimension 65536; bdd moved to lattice-estimator's 129.6 at 1724")
    known = bits("bdd", 65536, 1724, SPARSE)
    for log_q in range(1716, 1749, 4):
        print(f"{log_q:6}  {129.6 + bits('bdd', 65536, log_q, SPARSE) - known:.2f}")


if __name__ == "__main__":
    main()

//! Moduli, bases of primes, polynomials, automorphisms and samplers.

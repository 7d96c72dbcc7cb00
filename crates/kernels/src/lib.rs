//! Row arithmetic modulo one prime, for every instruction set, chosen at run time.

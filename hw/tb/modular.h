// Arithmetic in 128 bits that results are compared with.
#pragma once
#include <cstdint>

using Wide = unsigned __int128;

inline uint64_t power(uint64_t base, uint64_t exponent, uint64_t q) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base = (Wide)base * base % q)
        if (exponent & 1) result = (Wide)result * base % q;
    return result;
}

// 2^(-bits) modulo q.
inline uint64_t montgomery_unit(int bits, uint64_t q) { return power(power(2, bits, q), q - 2, q); }

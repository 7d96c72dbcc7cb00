// Cycles that operations must take, from their fields and the engine's configuration.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

constexpr uint64_t N = 1ULL << LOGN, ROWS = N / LANES, WORDS = (WIDTH + 16) / 17;
constexpr uint64_t MUL = 4 * WORDS + 2;     // latency of a product
constexpr uint64_t START = 3;               // from a command to its first address

struct Shape {
    std::map<uint64_t, uint64_t> config;
    uint64_t at(uint64_t i) const { return config.count(i) ? config.at(i) : 0; }
};

struct Fields {
    uint64_t kind, prime, terms, targets;
};

inline Fields fields_of(const uint64_t *op) {
    auto field = [&](int low, int bits) { return op[low / 64] >> (low % 64) & ((1 << bits) - 1); };
    return {field(220, 4), field(208, 8), field(200, 8), field(192, 8)};
}

// The core without loads and unloads, then with them.
inline uint64_t transform_run() {
    const uint64_t latency = MUL + 4 + 2;
    const uint64_t period = std::max(ROWS, ROWS / 2 + latency + 2);
    return (LOGN - 1) * period + ROWS + latency;
}
// So many limbs one after another. The next one's rows come in beside the last stage of a forward transform, whose
// results go out, and beside the unload of an inverse one.
inline uint64_t transforms(uint64_t count, bool inverse) {
    const uint64_t load = RL + ROWS, run = transform_run();
    const uint64_t next = load + (inverse ? run : run - ROWS) + 1;
    return START + 1 + load + (count - 1) * next + run + (inverse ? ROWS + 1 : 0);
}

inline uint64_t products(uint64_t terms) { return START + 2 + ROWS * terms + RL + MUL + 8; }
inline uint64_t sums() { return START + 2 + ROWS + RL + 4; }

// On lanes of sums, in pairs of rows as well: weighing is a row ahead, and no more.
inline uint64_t conversion_on_sums(uint64_t terms, uint64_t targets) {
    const uint64_t slots = std::max<uint64_t>(terms + 1, SHARE);
    const uint64_t products = targets * slots, weighing = terms * SHARE;
    const uint64_t first = weighing + RL + MUL + 8;     // from a row's first source to its quotient
    const uint64_t pair = std::max({2 * products, 2 * weighing, products + first});
    return START + terms + (ROWS / 2 - 1) * pair + first + products + std::max(products, weighing) -
           (slots - terms - 1) + 21 + SHARE;
}

// Rows go in pairs: the second of a pair never waits for its quotient.
inline uint64_t conversion(uint64_t terms, uint64_t targets) {
    if (SHARE) return conversion_on_sums(terms, targets);
    const uint64_t products = targets * (terms + 1), slots = terms + products;
    const uint64_t quotient = RL + MUL + 7;     // from a row's last source to its quotient
    const uint64_t first = terms + std::max(terms, quotient);
    const uint64_t pair = std::max(2 * slots, slots + quotient);
    return START + first + (ROWS / 2 - 1) * pair + slots + products + RL + MUL + 3;
}

// A key switch: see `rot` in engine.sv.
inline uint64_t key_switch(const Shape &shape, uint64_t key) {
    auto config = [&](uint64_t i) { return shape.at(16 * key + i); };
    const uint64_t limbs = config(0), special = config(1), digits = config(2), size = config(3);
    const uint64_t all = limbs + special;
    uint64_t cycles = 0;
    for (uint64_t from = 0; from < limbs; from += size) {
        const uint64_t own = std::min(size, limbs - from);
        cycles += conversion(own, all - own);
    }
    const uint64_t forward = digits * special + (digits - 1) * limbs + 2 * limbs;
    return cycles + transforms(limbs, true) + forward * transforms(1, false) +
           2 * special * transforms(1, true) + 2 * conversion(special, limbs) +
           2 * all * products(digits) + 2 * limbs * products(1);
}

inline uint64_t matrix(const Shape &shape) {
    const uint64_t limbs = shape.at(0), giants = shape.at(40), babies = shape.at(41),
                   coordinates = shape.at(42);
    return (babies + coordinates - 2) * key_switch(shape, 0) +
           giants * coordinates * 2 * limbs * products(babies) +
           (giants - 1) * coordinates * (key_switch(shape, 1) + 2 * limbs * sums());
}

inline uint64_t formula_of(const Shape &shape, const Fields &op) {
    switch (op.kind) {
    case 0:
    case 1: return products(op.terms);
    case 2:
    case 3: return sums();
    case 4:
    case 5: return transforms(op.terms, op.kind == 5);
    case 6: return conversion(op.terms, op.targets);
    case 8:
    case 9: return key_switch(shape, op.prime);
    default: return matrix(shape);
    }
}

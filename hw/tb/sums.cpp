// Sums of products against arithmetic in 128 bits, on the operands of a file of products:
//   sums FILE SET WIDTH [MUTANT [COUNT [CYCLES]]], COUNT products modulo each prime
// CYCLES, where given, is written: cycles of a row of 512 LANES sums.
#include "Vsums_bench.h"
#include "image.h"
#include "modular.h"
#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <verilated.h>

using Row = std::array<uint64_t, LANES>;

constexpr uint64_t LONGEST = 64, LATENCY = 20 + SHARE;

// The rows that are due, with the cycle that they are due in.
struct Due {
    uint64_t cycle;
    Row row;
};

struct Bench {
    Vsums_bench top;
    std::deque<Due> due;
    std::mt19937_64 rng{22};
    uint64_t cycle = 0, last_end = 0, products = 0, sums = 0, wrong = 0;

    void step() {
        top.clk = 0;
        top.eval();
        if (top.r_valid) {
            if (due.empty() || due.front().cycle != cycle)
                wrong++;
            else
                for (int l = 0; l < LANES; l++) wrong += word(top.r, l) != due.front().row[l];
        } else if (!due.empty() && due.front().cycle == cycle)
            wrong++;
        while (!due.empty() && due.front().cycle <= cycle) due.pop_front();
        top.clk = 1;
        top.eval();
        cycle++;
    }

    // Anything at the operands, which must not count.
    void idle() {
        top.valid = 0;
        top.first = rng() & 1;
        top.last = rng() & 1;
        top.q = rng();
        for (int i = 0; i < 2 * LANES; i++) top.a[i] = top.b[i] = rng();
        step();
    }

    void reset() {
        top.rst = 1;
        for (uint64_t i = 0; i < LATENCY + 4; i++) idle();
        top.rst = 0;
        last_end = cycle - SHARE;
    }

    void drain() {
        for (uint64_t i = 0; i < LATENCY + 1; i++) idle();
        wrong += due.size();
    }

    // A sum of so many products; `pauses`: between its products too. Operands come from `next`.
    template <class Next> void sum(uint64_t q, uint64_t length, bool pauses, Next next) {
        const uint64_t unit = montgomery_unit(68, q);
        Row row{};
        for (uint64_t i = 0; i < length; i++) {
            if (pauses && rng() % 4 == 0) idle();
            if (i + 1 == length)
                while (cycle < last_end + SHARE) idle();
            top.valid = 1;
            top.first = i == 0;
            top.last = i + 1 == length;
            top.q = top.last ? q : rng();
            for (int l = 0; l < LANES; l++) {
                const auto [a, b] = next();
                set(top.a, l, a);
                set(top.b, l, b);
                row[l] = (row[l] + (Wide)a * b) % q;
            }
            if (top.last) last_end = cycle;
            step();
            products += LANES;
        }
        for (auto &x : row) x = (Wide)x * unit % q;
        due.push_back({last_end + LATENCY, row});
        sums += LANES;
    }

    static uint64_t word(const VlWide<2 * LANES> &data, int l) {
        return data[2 * l] | (uint64_t)data[2 * l + 1] << 32;
    }
    static void set(VlWide<2 * LANES> &data, int l, uint64_t x) {
        data[2 * l] = x;
        data[2 * l + 1] = x >> 32;
    }
};

// Rows without a pause, from their first product to their last residue, by the counter of the RTL.
static bool row_of_sums(Bench &bench, uint64_t q, const char *path) {
    constexpr uint64_t ROWS = 512, LENGTH = SHARE, FORMULA = ROWS * LENGTH + LATENCY;
    bench.reset();
    auto next = [&]() { return std::pair(bench.rng() % q, bench.rng() % q); };
    for (uint64_t i = 0; i < ROWS; i++) bench.sum(q, LENGTH, false, next);
    bench.drain();
    const uint64_t cycles = bench.top.cycles;
    printf("%llu sums of %llu products in each lane: %llu cycles, formula %llu\n",
           (unsigned long long)ROWS, (unsigned long long)LENGTH, (unsigned long long)cycles,
           (unsigned long long)FORMULA);
    if (path) {
        FILE *out = fopen(path, "w");
        if (!out) fail(std::string(path) + ": cannot be written");
        fprintf(out, "{\"sum_lane\": {\"n\": %llu, \"limbs\": 1, \"special\": 0, \"lanes\": %d, ",
                (unsigned long long)ROWS * LANES, LANES);
        fprintf(out, "\"share\": %d, \"ops\": %llu, \"cycles\": %llu}}\n", SHARE,
                (unsigned long long)LENGTH, (unsigned long long)cycles);
        fclose(out);
    }
    return cycles * 50 > FORMULA * 49 && cycles * 50 < FORMULA * 51;
}

int main(int argc, char **argv) {
    if (argc < 4) fail("usage: sums FILE SET WIDTH [MUTANT [COUNT]]");
    if (atoi(argv[3]) != WIDTH)
        fail("this testbench was built for " + std::to_string(WIDTH) + " bits, not for " + argv[3]);
    const uint64_t least = argc > 5 ? atoi(argv[5]) : 20000;
    Reader in(argv[1], PRODUCTS, argv[2], WIDTH, 0);
    Bench bench;
    bench.top.mutant = argc > 4 ? atoi(argv[4]) : 0;
    bench.reset();
    bench.wrong = 0;
    const uint64_t primes = in.word();
    uint64_t greatest_prime = 0;
    const std::vector<uint64_t> lengths = {1, 2, 1, SHARE, SHARE, 13, LONGEST, SHARE + 1};
    for (uint64_t p = 0; p < primes; p++) {
        const uint64_t q = in.word(), count = in.word();
        std::vector<uint64_t> data(3 * count);
        in.read(data.data(), data.size());
        greatest_prime = std::max(greatest_prime, q);
        uint64_t at = 0;
        auto next = [&]() {
            const uint64_t *operands = &data[3 * (at++ % count)];
            return std::pair(operands[0], operands[1]);
        };
        auto greatest = [&]() { return std::pair(q - 1, q - 1); };
        const uint64_t from = bench.products;
        for (bool pauses : {false, true})
            for (uint64_t length : {(uint64_t)1, (uint64_t)SHARE, LONGEST})
                bench.sum(q, length, pauses, greatest);
        for (uint64_t i = 0; bench.products < from + least; i++)
            bench.sum(q, lengths[i % lengths.size()], i / lengths.size() % 2, next);
    }
    bench.drain();
    const bool timely = row_of_sums(bench, greatest_prime, argc > 6 ? argv[6] : nullptr);
    printf("%d bits, %d lanes a reducer: %llu sums of %llu products modulo %llu primes, %llu wrong\n", WIDTH,
           SHARE, (unsigned long long)bench.sums, (unsigned long long)bench.products,
           (unsigned long long)primes, (unsigned long long)bench.wrong);
    return bench.wrong != 0 || !timely;
}

// Sums of products against arithmetic in 128 bits, on the operands of a file of products:
//   sums FILE SET WIDTH [MUTANT [COUNT]], COUNT cycles of products modulo each prime
#include "Vsums_bench.h"
#include "image.h"
#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <verilated.h>

using Wide = unsigned __int128;
using Row = std::array<uint64_t, LANES>;

constexpr uint64_t LONGEST = 64, LATENCY = 20 + SHARE;

static uint64_t power(uint64_t base, uint64_t exponent, uint64_t q) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base = (Wide)base * base % q)
        if (exponent & 1) result = (Wide)result * base % q;
    return result;
}

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

    // A sum of so many products; `pauses`: between its products too. Operands come from `next`.
    template <class Next> void sum(uint64_t q, uint64_t length, bool pauses, Next next) {
        const uint64_t unit = power(power(2, 68, q), q - 2, q);
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

int main(int argc, char **argv) {
    if (argc < 4) fail("usage: sums FILE SET WIDTH [MUTANT [COUNT]]");
    if (atoi(argv[3]) != WIDTH)
        fail("this testbench was built for " + std::to_string(WIDTH) + " bits, not for " + argv[3]);
    const uint64_t least = argc > 5 ? atoi(argv[5]) : 20000;
    Reader in(argv[1], PRODUCTS, argv[2], WIDTH, 0);
    Bench bench;
    bench.top.mutant = argc > 4 ? atoi(argv[4]) : 0;
    bench.top.rst = 1;
    for (uint64_t i = 0; i < LATENCY + 4; i++) bench.idle();
    bench.top.rst = 0;
    bench.wrong = 0;
    const uint64_t primes = in.word();
    const std::vector<uint64_t> lengths = {1, 2, 1, SHARE, SHARE, 13, LONGEST, SHARE + 1};
    for (uint64_t p = 0; p < primes; p++) {
        const uint64_t q = in.word(), count = in.word();
        std::vector<uint64_t> data(3 * count);
        in.read(data.data(), data.size());
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
    for (uint64_t i = 0; i < LATENCY + 1; i++) bench.idle();
    bench.wrong += bench.due.size();
    printf("%d bits, %d lanes a reducer: %llu sums of %llu products modulo %llu primes, %llu wrong\n", WIDTH,
           SHARE, (unsigned long long)bench.sums, (unsigned long long)bench.products,
           (unsigned long long)primes, (unsigned long long)bench.wrong);
    return bench.wrong != 0;
}

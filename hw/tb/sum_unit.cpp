// Sums over baby steps against arithmetic in 128 bits, modulo the primes of a file of products:
//   sum_unit FILE SET WIDTH [MUTANT]
#include "Vsum_unit_bench.h"
#include "image.h"
#include "modular.h"
#include <array>
#include <map>
#include <random>
#include <verilated.h>

constexpr uint64_t N = 1ULL << LOGN, ROWS = N / LANES;
constexpr uint64_t BABIES = 0, DIAGONALS = 200, OUT = 300, PART = 100, GROUPS = 3;

struct Bench {
    Vsum_unit_bench top;
    std::map<uint64_t, std::vector<uint64_t>> limbs;
    std::array<int64_t, RL> asked;
    uint64_t cycle = 0;

    Bench() { asked.fill(-1); }

    // Data come RL cycles after their address.
    void step() {
        top.clk = 0;
        top.eval();
        if (top.wr_en) {
            auto &limb = limbs[top.wr_addr / ROWS];
            limb.resize(N);
            memcpy(&limb[top.wr_addr % ROWS * LANES], top.wr_data.m_storage, LANES * 8);
        }
        asked[cycle % RL] = top.rd_en ? (int64_t)top.rd_addr : -1;
        const int64_t due = asked[++cycle % RL];
        top.clk = 1;
        top.eval();
        if (due < 0) return;
        auto &limb = limbs[due / ROWS];
        limb.resize(N);
        memcpy(top.rd_data.m_storage, &limb[due % ROWS * LANES], LANES * 8);
    }

    uint64_t run(uint64_t q) {
        top.q = q;
        top.babies = BABIES;
        top.baby_stride = top.diagonal_stride = top.out_stride = 1;
        top.part_stride = PART;
        top.diagonals = DIAGONALS;
        top.groups = GROUPS;
        top.out = OUT;
        top.start = 1;
        step();
        top.start = 0;
        for (uint64_t i = 0; i < 100 * N; i++) {
            top.clk = 0;
            top.eval();
            const bool done = top.done;
            step();
            if (done) return top.cycles;
        }
        return 0;
    }
};

// Words that are wrong of the sums modulo q.
static uint64_t check(Bench &bench, uint64_t q) {
    const uint64_t unit = montgomery_unit(68, q);
    uint64_t wrong = 0;
    for (uint64_t group = 0; group < GROUPS; group++)
        for (uint64_t part = 0; part < 2; part++) {
            auto &found = bench.limbs[OUT + group + part * PART];
            found.resize(N);
            for (uint64_t x = 0; x < N; x++) {
                uint64_t sum = 0;
                for (uint64_t i = 0; i < BLOCK; i++)
                    sum = (sum + (Wide)bench.limbs[BABIES + i + part * PART][x] *
                                     bench.limbs[DIAGONALS + group * BLOCK + i][x]) % q;
                wrong += found[x] != (uint64_t)((Wide)sum * unit % q);
            }
        }
    return wrong;
}

int main(int argc, char **argv) {
    if (argc < 4) fail("usage: sum_unit FILE SET WIDTH [MUTANT]");
    if (atoi(argv[3]) != WIDTH)
        fail("this testbench was built for " + std::to_string(WIDTH) + " bits, not for " + argv[3]);
    Reader in(argv[1], PRODUCTS, argv[2], WIDTH, 0);
    Bench bench;
    bench.top.mutant = argc > 4 ? atoi(argv[4]) : 0;
    bench.top.rst = 1;
    for (int i = 0; i < 100; i++) bench.step();
    bench.top.rst = 0;
    std::mt19937_64 rng(22);
    uint64_t wrong = 0, words = 0, cycles = 0;
    const uint64_t primes = in.word();
    for (uint64_t p = 0; p < primes; p++) {
        const uint64_t q = in.word(), count = in.word();
        std::vector<uint64_t> skipped(3 * count);
        in.read(skipped.data(), skipped.size());
        if (p % 8 && p + 1 < primes) continue;
        // The first row has the greatest residues everywhere.
        auto fill = [&](uint64_t limb) {
            auto &row = bench.limbs[limb];
            row.resize(N);
            for (uint64_t x = 0; x < N; x++) row[x] = x < LANES ? q - 1 : rng() % q;
        };
        for (uint64_t i = 0; i < BLOCK; i++) fill(BABIES + i), fill(BABIES + PART + i);
        for (uint64_t i = 0; i < GROUPS * BLOCK; i++) fill(DIAGONALS + i);
        for (uint64_t group = 0; group < GROUPS; group++)
            bench.limbs[OUT + group].clear(), bench.limbs[OUT + group + PART].clear();
        cycles = bench.run(q);
        wrong += check(bench, q);
        words += 2 * GROUPS * N;
    }
    const uint64_t formula = ROWS * BLOCK * (2 + GROUPS) + RL + 22 + SHARE;
    printf("sums over %d baby steps: %llu words, %llu wrong; %llu cycles, formula %llu\n", BLOCK,
           (unsigned long long)words, (unsigned long long)wrong, (unsigned long long)cycles,
           (unsigned long long)formula);
    return wrong != 0 || cycles * 50 < formula * 49 || cycles * 50 > formula * 51;
}

// Multipliers against the products of a file: mul FILE SET WIDTH [MUTANT].
#include "Vmul_bench.h"
#include "image.h"
#include <verilated.h>

int main(int argc, char **argv) {
    if (argc < 4) fail("usage: mul FILE SET WIDTH [MUTANT]");
    const uint64_t width = atoi(argv[3]);
    if (width != WIDTH)
        fail("this testbench was built for " + std::to_string(WIDTH) + " bits, not for " + argv[3]);
    Reader in(argv[1], PRODUCTS, argv[2], width, 0);
    const int latency = 4 * ((WIDTH + 16) / 17) + 2;
    Vmul_bench top;
    top.mutant = argc > 4 ? atoi(argv[4]) : 0;
    uint64_t checked = 0, wrong = 0;
    const uint64_t primes = in.word();
    for (uint64_t p = 0; p < primes; p++) {
        const uint64_t q = in.word(), count = in.word();
        std::vector<uint64_t> words(3 * count);
        in.read(words.data(), words.size());
        top.q = q;
        for (uint64_t i = 0; i < count + latency; i++) {
            const uint64_t *in_now = &words[3 * (i < count ? i : 0)];
            top.a = in_now[0];
            top.b = in_now[1];
            top.clk = 0;
            top.eval();
            if (i >= (uint64_t)latency) {
                checked++;
                wrong += top.r != words[3 * (i - latency) + 2];
            }
            top.clk = 1;
            top.eval();
        }
    }
    printf("%d bits: %llu products modulo %llu primes, %llu wrong\n", WIDTH,
           (unsigned long long)checked, (unsigned long long)primes, (unsigned long long)wrong);
    return wrong != 0;
}

// A butterfly against arithmetic in 128 bits, on the operands of a file of products:
//   butterfly FILE SET WIDTH [COUNT], COUNT of them modulo each prime
#include "Vbutterfly_bench.h"
#include "image.h"
#include "modular.h"
#include <algorithm>
#include <verilated.h>

int main(int argc, char **argv) {
    if (argc < 4) fail("usage: butterfly FILE SET WIDTH [COUNT]");
    const uint64_t most = argc > 4 ? atoi(argv[4]) : UINT64_MAX;
    const int words = (WIDTH + 16) / 17, latency = 4 * words + 6;
    Reader in(argv[1], PRODUCTS, argv[2], WIDTH, 0);
    Vbutterfly_bench top;
    uint64_t checked = 0, wrong = 0;
    for (uint64_t primes = in.word(); primes > 0; primes--) {
        const uint64_t q = in.word(), all = in.word(), count = std::min(all, most);
        std::vector<uint64_t> data(3 * all);
        in.read(data.data(), data.size());
        const uint64_t unit = montgomery_unit(17 * words, q), half = (q + 1) / 2;
        auto times = [&](uint64_t a, uint64_t b) { return (uint64_t)((Wide)a * b % q * unit % q); };
        for (int inverse = 0; inverse < 2; inverse++) {
            top.inverse = inverse;
            top.q = q;
            for (uint64_t i = 0; i < count + latency; i++) {
                const uint64_t *now = &data[3 * (i < count ? i : 0)];
                top.x = now[2];
                top.y = now[0];
                top.w = now[1];
                top.clk = 0;
                top.eval();
                if (i >= (uint64_t)latency) {
                    const uint64_t *then = &data[3 * (i - latency)];
                    const uint64_t x = then[2], y = then[0], w = then[1];
                    const uint64_t o0 = inverse ? (uint64_t)((Wide)(x + y) % q * half % q)
                                                : (x + times(y, w)) % q;
                    const uint64_t o1 = inverse ? times((x + q - y) % q, w)
                                                : (x + q - times(y, w)) % q;
                    checked++;
                    wrong += top.o0 != o0 || top.o1 != o1;
                }
                top.clk = 1;
                top.eval();
            }
        }
    }
    printf("%d bits: %llu butterflies, %llu wrong\n", WIDTH, (unsigned long long)checked,
           (unsigned long long)wrong);
    return wrong != 0;
}

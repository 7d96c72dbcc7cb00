/* How many operations a card does: eight chains of them in each thread.
 *
 * call: 0 rounds, 1 where a word of each thread is written. */
#include "machine.h"

#define THREADS 256
#define CHAINS 8

#define RATE(name, type, step)                                                                              \
  KERNEL(name, THREADS) {                                                                                   \
    PRIVATE(type, x, CHAINS, THREADS);                                                                      \
    const u64 rounds = call[0];                                                                             \
    PHASE                                                                                                   \
      UNROLL for (u32 i = 0; i < CHAINS; i++) OWN(x)[i] = (type)(thread + i);                               \
      for (u64 round = 0; round < rounds; round++) {                                                        \
        UNROLL for (u32 i = 0; i < CHAINS; i++) { step }                                                    \
      }                                                                                                     \
      type sum = 0;                                                                                         \
      UNROLL for (u32 i = 0; i < CHAINS; i++) sum += OWN(x)[i];                                             \
      WORDS(call[1])[THREADS * (u64)BLOCK + thread] = (u64)sum;                                             \
    END                                                                                                     \
  }

/* Fused multiply-adds of doubles; of 32-bit integers; of the latter into 64 bits. */
RATE(rate_floating, double, OWN(x)[i] = FMA(OWN(x)[i], 0.5, 1.0);)
RATE(rate_whole, u32, OWN(x)[i] = OWN(x)[i] * 0x9E3779B1u + thread;)
RATE(rate_wide, u64, OWN(x)[i] = (u64)(u32)OWN(x)[i] * 0x9E3779B1u + (OWN(x)[i] >> 32);)

/* One source for two machines: nvcc compiles it for cards, a C compiler for tests on a processor.
 *
 * A kernel is a sequence of phases. PHASE ... END is the work of every thread of a block up to a barrier: on a card a
 * scope and the barrier, on a processor a loop over the block's threads, whose order is the caller's choice: a value that
 * is read in the phase in which another thread writes it differs. What a thread keeps from one phase to the next is
 * PRIVATE; what a block shares is SHARED, or DYNAMIC where the launch says how much, and full of rubbish at first.
 *
 * A kernel's only argument is a table of words in the card's memory: addresses, numbers, rows. */
#ifndef OMR_MACHINE_H
#define OMR_MACHINE_H

#ifdef __CUDACC__

typedef unsigned long long u64;
typedef unsigned int u32;
#define KERNEL(name, threads) extern "C" __global__ void __launch_bounds__(threads) name(const u64 *__restrict__ call)
/* A kernel with so few registers that a multiprocessor has room for this number of blocks. */
#define CROWDED(name, threads, blocks) \
  extern "C" __global__ void __launch_bounds__(threads, blocks) name(const u64 *__restrict__ call)
#define DEVICE static __device__ __forceinline__
#define SHARED(type, name, length) __shared__ type name[length]
#define DYNAMIC(type, name) extern __shared__ type name[]
#define PRIVATE(type, name, length, threads) type name[length]
#define OWN(name) name
#define PHASE { const u32 thread = threadIdx.x;
#define END } __syncthreads();
#define BLOCK blockIdx.x
#define ROW blockIdx.y
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("unroll 1")
#define HIGH(a, b) __umul64hi(a, b)
#define REVERSED(x, bits) (__brev(x) >> (32 - (bits)))
/* What comes after is not begun before: registers are few. */
#define FENCE(x) asm volatile("" : "+d"(x) :: "memory")
#define ADD(a, b) __dadd_rn(a, b)
#define MUL(a, b) __dmul_rn(a, b)
#define FMA(a, b, c) __fma_rn(a, b, c)
#define FLOAT_OF(bits) __longlong_as_double((long long)(bits))
#define BITS_OF(x) ((u64)__double_as_longlong(x))

#else

#include <stdint.h>
#include <string.h>
typedef uint64_t u64;
typedef uint32_t u32;
struct launch { u32 block, row, threads, reversed; };
#define KERNEL(name, most) void name(const struct launch *launch, const u64 *call)
#define CROWDED(name, most, blocks) KERNEL(name, most)
#define DEVICE static inline __attribute__((always_inline))
#define SHARED(type, name, length) static _Thread_local type name[length]; memset(name, 0xA5, sizeof name)
#define DYNAMIC(type, name) static _Thread_local type name[MOST_DYNAMIC]; memset(name, 0xA5, sizeof name)
#define PRIVATE(type, name, length, threads) static _Thread_local type name##_of[threads][length]
#define OWN(name) name##_of[thread]
#define PHASE \
  for (u32 turn = 0; turn < launch->threads; turn++) { \
    const u32 thread = launch->reversed ? launch->threads - 1 - turn : turn;
#define END }
#define BLOCK launch->block
#define ROW launch->row
#define UNROLL
#define ROLLED
#define FENCE(x) ((void)(x))
#define HIGH(a, b) ((u64)(((unsigned __int128)(a) * (b)) >> 64))
static inline u32 REVERSED(u32 x, u32 bits) {
  u32 reversed = 0;
  for (u32 i = 0; i < bits; i++) reversed |= (x >> i & 1) << (bits - 1 - i);
  return reversed;
}
#define ADD(a, b) ((a) + (b))
#define MUL(a, b) ((a) * (b))
#define FMA(a, b, c) __builtin_fma(a, b, c)
static inline double FLOAT_OF(u64 bits) { double x; memcpy(&x, &bits, 8); return x; }
static inline u64 BITS_OF(double x) { u64 bits; memcpy(&bits, &x, 8); return bits; }

#endif

/* Ranges that exactness rests on: `broken` names the last one that did not hold. */
#ifdef CHECKED
const char *volatile broken;
#define HOLDS(condition, what) do { if (!(condition)) broken = what; } while (0)
#else
#define HOLDS(condition, what) ((void)0)
#endif

/* A place in the card's memory. */
#define WORDS(address) ((u64 *)(address))
#define HALVES(address) ((u32 *)(address))

#endif

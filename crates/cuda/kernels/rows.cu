/* Sums, products and permutations of rows, small and uniform residues. */
#include "residues.h"

#define THREADS 256
#define AT (THREADS * (u64)BLOCK + thread)

/* Places in a call are counted in words from its beginning.
 *
 * call: 0 primes, 1 place of the terms; then for each row: prime, to, constant, first term, terms. A term: factor, row. */
KERNEL(combine, THREADS) {
  const u64 *own = call + 2 + 5 * (u64)ROW;
  const struct prime m = prime_at(call[0], own[0]);
  const u64 *terms = call + call[1] + 2 * own[3];
  PHASE
    struct sum s = {own[2], 0};
    for (u64 i = 0; i < own[4]; i++) add_product(&s, WORDS(terms[2 * i + 1])[AT], terms[2 * i]);
    WORDS(own[1])[AT] = reduced_sum(m, s);
  END
}

/* call: 0 primes, 1 place of the runs; then for each row: prime, to, whether it adds, first run, runs. A run: two rows to
 * multiply, bytes from each to its next one, number of pairs. */
KERNEL(multiply, THREADS) {
  const u64 *own = call + 2 + 5 * (u64)ROW;
  const struct prime m = prime_at(call[0], own[0]);
  const u64 *runs = call + call[1] + 5 * own[3];
  PHASE
    struct sum s = {own[2] ? WORDS(own[1])[AT] : 0, 0};
    for (u64 i = 0; i < own[4]; i++) {
      const u64 *run = runs + 5 * i;
      u64 a = run[0], b = run[1];
      for (u64 pair = 0; pair < run[4]; pair++) {
        add_product(&s, WORDS(a)[AT], WORDS(b)[AT]);
        a += run[2];
        b += run[3];
      }
    }
    WORDS(own[1])[AT] = reduced_sum(m, s);
  END
}

/* call: 0 indices as halves; then for each row: from, to. */
KERNEL(permute, THREADS) {
  const u64 *own = call + 1 + 2 * (u64)ROW;
  PHASE
    WORDS(own[1])[AT] = WORDS(own[0])[HALVES(call[0])[AT]];
  END
}

/* x, at most p, centred modulo p, as a residue. */
DEVICE u64 lifted(struct prime m, u64 p, u64 x) {
  /* A multiple of q above p. */
  const u64 raised = m.q * (p / m.q + 1);
  return reduced(m, x > p / 2 ? x + (raised - p) : x);
}

/* call: 0 primes, 1 p, 2 halves from one coefficient to the next; then for each row: prime, coefficients, 0 or the places
 * of the coefficients as halves, to. */
KERNEL(lift, THREADS) {
  const u64 *own = call + 3 + 4 * (u64)ROW;
  const struct prime m = prime_at(call[0], own[0]);
  const u64 p = call[1], step = call[2];
  PHASE
    const u64 x = HALVES(own[1])[step * (own[2] ? HALVES(own[2])[AT] : AT)];
    WORDS(own[3])[AT] = lifted(m, p, x);
  END
}

/* Symbols that a thread of the next kernel adds up. */
#define SYMBOLS 4

DEVICE void add_short_product(struct sum *s, u64 a, u64 b) {
  HOLDS(a >> 31 == 0 && b >> 31 == 0, "residues of short primes");
  const u64 product = (u64)(u32)a * (u32)b, before = s->low;
  s->low = before + product;
  s->high += s->low < before;
}

/* Sums of products of rows of two halves: to word c of half r of each symbol's sums, products of word c of half r of each
 * term with word c + turn of half r ^ sign of the symbol's row of the term's class. Grid: words; groups of symbols.
 *
 * call: 0 primes, 1 prime, 2 log2 of half a row, 3 turns, 4 classes, 5 symbols; then for each term, by sign, turn and
 * class: body, mask; then for each symbol: its row of each class, its sum with bodies, that with masks. */
KERNEL(turned, THREADS) {
  const struct prime m = prime_at(call[0], call[1]);
  const u64 half = (u64)1 << call[2], turns = call[3], classes = call[4];
  const u64 first = SYMBOLS * (u64)ROW, last = call[5] - 1, size = classes + 2;
  const u64 *terms = call + 6, *symbols = terms + 4 * turns * classes;
  PHASE
    const u64 column = AT & (half - 1);
    const u64 *own[SYMBOLS];
    struct sum s[2 * SYMBOLS];
    UNROLL for (u32 k = 0; k < SYMBOLS; k++) {
      /* The last symbol takes the place of those that are missing. */
      own[k] = symbols + size * (first + k < last ? first + k : last);
      UNROLL for (u32 part = 0; part < 2; part++) {
        s[2 * k + part].low = WORDS(own[k][classes + part])[AT];
        s[2 * k + part].high = 0;
      }
    }
    for (u64 sign = 0; sign < 2; sign++)
      for (u64 turn = 0; turn < turns; turn++) {
        const u64 from = ((AT & half) ^ (sign ? half : 0)) + ((column + turn) & (half - 1));
        for (u64 u = 0; u < classes; u++) {
          const u64 *term = terms + 2 * ((sign * turns + turn) * classes + u);
          const u64 body = WORDS(term[0])[AT], mask = WORDS(term[1])[AT];
          UNROLL for (u32 k = 0; k < SYMBOLS; k++) {
            const u64 x = WORDS(own[k][u])[from];
            add_short_product(&s[2 * k], body, x);
            add_short_product(&s[2 * k + 1], mask, x);
          }
        }
      }
    UNROLL for (u32 k = 0; k < SYMBOLS; k++)
      if (first + k <= last)
        UNROLL for (u32 part = 0; part < 2; part++)
          WORDS(own[k][classes + part])[AT] = reduced_sum(m, s[2 * k + part]);
  END
}

#define LEFT(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))
#define MIXED(a, b, c, d) \
  x[a] += x[b]; x[d] = LEFT(x[d] ^ x[a], 16); x[c] += x[d]; x[b] = LEFT(x[b] ^ x[c], 12); \
  x[a] += x[b]; x[d] = LEFT(x[d] ^ x[a], 8); x[c] += x[d]; x[b] = LEFT(x[b] ^ x[c], 7);
#define STREAMED 8

/* A block of a ChaCha20 stream without a nonce, as STREAMED words. */
DEVICE void stream_block(const u64 *key, u64 number, u64 *words) {
  u32 first[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574}, x[16];
  UNROLL for (u32 i = 0; i < 4; i++) {
    first[4 + 2 * i] = (u32)key[i];
    first[5 + 2 * i] = (u32)(key[i] >> 32);
  }
  first[12] = (u32)number;
  first[13] = (u32)(number >> 32);
  first[14] = first[15] = 0;
  UNROLL for (u32 i = 0; i < 16; i++) x[i] = first[i];
  ROLLED for (u32 round = 0; round < 20; round += 2) {
    MIXED(0, 4, 8, 12) MIXED(1, 5, 9, 13) MIXED(2, 6, 10, 14) MIXED(3, 7, 11, 15)
    MIXED(0, 5, 10, 15) MIXED(1, 6, 11, 12) MIXED(2, 7, 8, 13) MIXED(3, 4, 9, 14)
  }
  UNROLL for (u32 i = 0; i < STREAMED; i++)
    words[i] = (u64)(x[2 * i + 1] + first[2 * i + 1]) << 32 | (x[2 * i] + first[2 * i]);
}

/* Rows of uniform residues: the words of a stream, cut to the prime's bits, that are below the prime, in their order.
 * Each thread makes a block of the stream, and the words that are kept move together.
 *
 * call: 0 primes, 1 length of a row; then for each row: prime, to, mask of the bits, key in four words. */
KERNEL(draw, THREADS) {
  SHARED(u32, counts, 2 * THREADS);
  PRIVATE(u64, words, STREAMED, THREADS);
  PRIVATE(u32, kept, 1, THREADS);
  const u64 *own = call + 2 + 7 * (u64)ROW;
  const u64 q = prime_at(call[0], own[0]).q, length = call[1], mask = own[2];
  u64 made = 0, total = 0;
  for (u64 first = 0; made < length; first += THREADS) {
    PHASE
      u64 block[STREAMED];
      stream_block(own + 3, first + thread, block);
      u32 count = 0;
      UNROLL for (u32 i = 0; i < STREAMED; i++) {
        OWN(words)[i] = block[i] & mask;
        count += OWN(words)[i] < q;
      }
      OWN(kept)[0] = counts[thread] = count;
    END
    /* After step k a count is that of 2^k threads, up to its own; eight steps end in the first half. */
    for (u32 step = 1, half = 0; step < THREADS; step *= 2, half ^= THREADS) {
      PHASE
        const u32 before = thread >= step ? counts[half + thread - step] : 0;
        counts[(half ^ THREADS) + thread] = counts[half + thread] + before;
      END
    }
    PHASE
      u64 to = made + counts[thread] - OWN(kept)[0];
      UNROLL for (u32 i = 0; i < STREAMED; i++)
        if (OWN(words)[i] < q) {
          if (to < length) WORDS(own[1])[to] = OWN(words)[i];
          to++;
        }
      total = counts[THREADS - 1];
    END
    made += total;
  }
}

/* Without a source, coefficients are zero. */
#define MISSING (~(u64)0)

/* Columns of packed residues, which begin at any bit. A thread reads 64 bits, from the half of a word in which its residue
 * begins; there are that many.
 *
 * call: 0 primes, 1 p, 2 packed bytes, 3 bits of a residue, 4 factor and 5 constant that make a residue modulo p of it,
 * 6 place of the sources; then for each row: prime, number of its residue in a source, number of its first source, to. For
 * each coefficient a source: twice the number of its first bit, and one more if it is negated; or MISSING. */
KERNEL(unpack, THREADS) {
  const u64 *own = call + 7 + 4 * (u64)ROW;
  const struct prime m = prime_at(call[0], own[0]);
  const u64 p = call[1], bits = call[3];
  PHASE
    const u64 source = call[call[6] + own[2] + AT];
    u64 x = 0;
    if (source != MISSING) {
      const u64 first = source / 2 + bits * own[1];
      const u32 *halves = HALVES(call[2]) + first / 32;
      const u64 both = (u64)halves[1] << 32 | halves[0];
      const u64 packed = both >> first % 32 & (((u64)1 << bits) - 1);
      x = call[4] * packed + call[5];
      HOLDS(x < p, "a residue of a packed one");
      if (source % 2) x = p - x;
    }
    /* p becomes 0. */
    WORDS(own[3])[AT] = lifted(m, p, x);
  END
}

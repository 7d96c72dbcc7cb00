/* Blind rotations, TOGETHER of them a block: with a step for each block of the secret, all read the same keys at the same
 * time. Included once for each number of digits, which defines DIGITS, TOGETHER and NAME; TOGETHER DIGITS is 4.
 *
 * call: 0 primes, 1 factors, 2 log2 n, 3 psi^e - 1 for e < 2 n; key: 4 where it lies, 5 blocks, 6 keys of a block, 7 words
 * of a digit; 8 to 11 gadget; rotations: 12 exponents as halves, 13 of one rotation, 14 starts; window: 15 places but one,
 * 16 value; 17 accumulators.
 *
 * Keys are multiplied by 1 / n, residues of at most q/2 as doubles: for each digit, block and key of it four rows, those of
 * the body's digit in body and mask, then those of the mask's. An accumulator is a body and a mask of residues.
 *
 * Grid: rotations / TOGETHER. Threads: n / 4. Shared memory: 8 rows and the powers. */
#define PARTS (2 * TOGETHER)
#define SUMS (4 * DIGITS)
#define PLACE(part, number) (rows + ((part) * DIGITS + (number)) * PADDED(n))
/* The points of a warp differ in the highest bits of their exponents: gaps keep these in banks of their own. */
#define POWER(e) (powers[(e) + ((e) >> (f->log_n - 4)) + ((e) >> f->log_n)])

KERNEL(NAME(rotate), THREADS) {
  DYNAMIC(double, rows);
  SHARED(u32, exponents, TOGETHER * MOST_KEYS);
  const struct transform own = transform_at(call[0], call[1], call[2]), *f = &own;
  const struct gadget g = gadget_at(call + 8);
  const u32 n = 1u << f->log_n, keys = (u32)call[6];
  double *powers = rows + PARTS * DIGITS * PADDED(n);
  PHASE
    ROLLED for (u32 e = thread; e < 2 * n; e += n / 4) POWER(e) = FLOAT_OF(WORDS(call[3])[e]);
  END
  ROLLED for (u64 step = 0; ; step++) {
    PHASE
      /* The end of the step before, or the window turned by a body; then the digits of this one. */
      TEAM
      ROLLED for (u32 part = team; part < PARTS; part += TEAMS) {
        u64 *to = WORDS(call[17]) + (u64)n * (PARTS * BLOCK + part), x[16];
        double v[16];
        if (step > 0) {
          up_last(f, v, PLACE(part, 0), t);
          EACH FENCE(v[j]);
          EACH x[j] = residue(f->m, ADD(v[j], entered(f->m, to[t + APART(j)])));
        } else {
          const u64 start = WORDS(call[14])[TOGETHER * (u64)BLOCK + part / 2];
          EACH x[j] = part & 1 ? 0 : windowed(f->m, call + 15, n, start, t + APART(j));
        }
        EACH to[t + APART(j)] = x[j];
        if (step == call[5]) continue;
        EACH x[j] = fraction(g, x[j]);
        ROLLED for (u32 number = 0; number < DIGITS; number++) {
          EACH v[j] = digit(g, x[j], number);
          down_first(f, v, PLACE(part, number), t);
        }
      }
      if (step < call[5] && thread < TOGETHER * keys) {
        const u64 rotation = TOGETHER * (u64)BLOCK + thread / keys;
        exponents[thread] = HALVES(call[12])[rotation * call[13] + keys * step + thread % keys];
      }
    END
    if (step == call[5]) break;
    PHASE
      TEAM
      ROLLED for (u32 row = team; row < PARTS * DIGITS; row += TEAMS) down_middle(f, rows + row * PADDED(n), t);
    END
    PHASE
      TEAM
      ROLLED for (u32 row = team; row < PARTS * DIGITS; row += TEAMS) down_last(f, rows + row * PADDED(n), t);
    END
    PHASE
      /* The products of the digits with sums of keys times X^a - 1. */
      ROLLED for (u32 at = thread; at < n; at += n / 4) {
        const u32 turn = 2 * REVERSED(at, f->log_n) + 1;
        const u64 *key = WORDS(call[4]) + 4 * (u64)n * keys * step + at;
        struct wide sums[TOGETHER][SUMS];
        UNROLL for (u32 i = 0; i < TOGETHER * SUMS; i++) clear_wide(&sums[i / SUMS][i % SUMS]);
        ROLLED for (u32 i = 0; i < keys; i++) {
          double k[SUMS];
          UNROLL for (u32 s = 0; s < SUMS; s++) k[s] = FLOAT_OF(key[(u32)call[7] * (s / 4) + n * (4 * i + s % 4)]);
          UNROLL for (u32 r = 0; r < TOGETHER; r++) {
            const u32 e = (turn * exponents[r * keys + i]) & (2 * n - 1);
            const double x = POWER(e);
            UNROLL for (u32 s = 0; s < SUMS; s++) add_wide(&sums[r][s], x, k[s]);
          }
        }
        UNROLL for (u32 r = 0; r < TOGETHER; r++) {
          double column[2] = {0.0, 0.0};
          UNROLL for (u32 s = 0; s < SUMS; s++) {
            const double x = PLACE(2 * r + s / 2 % 2, s / 4)[PADDED(at)];
            column[s % 2] = ADD(column[s % 2], rough_product(f->m, narrowed(f->m, sums[r][s]), x));
          }
          PLACE(2 * r, 0)[PADDED(at)] = column[0];
          PLACE(2 * r + 1, 0)[PADDED(at)] = column[1];
        }
      }
    END
    PHASE
      TEAM
      ROLLED for (u32 part = team; part < PARTS; part += TEAMS) up_first(f, PLACE(part, 0), t);
    END
    PHASE
      TEAM
      ROLLED for (u32 part = team; part < PARTS; part += TEAMS) up_middle(f, PLACE(part, 0), t);
    END
  }
}

#undef PARTS
#undef POWER
#undef SUMS
#undef PLACE

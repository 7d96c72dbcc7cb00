/* Negacyclic transforms of n = rows columns points as two kernels, of up to eight levels each: first over columns whose
 * values are `columns` apart, then over pieces of `columns` neighbours. A thread holds 16 values, goes through four
 * levels, exchanges once and goes through the others. Included once for each arithmetic, which defines `value`, what is
 * done with 16 of them, RESIDENT and NAME.
 *
 * call: 0 primes, 1 factors, 2 log2 rows, 3 log2 columns; then for each row of the grid
 *   prime, from, to, two words: of an inverse transform the weight; of others the place of the ending (residues.h) and 0,
 *   or 0 and 0 where there is none and the transform itself is written
 * Factors of prime i begin at factor 2 n i: n of forward transforms, n of inverse ones, at m + b that of block b of a
 * level of m blocks. */
#define CALL 4
#define OF_ROW 5
#define MOST 256
#define PADDED(x) ((x) + ((x) >> 4))
#define TILE 4352 /* PADDED(16 * MOST) */

#define TRANSFORM(kind)                                                                                     \
  const u32 log_rows = (u32)call[2], log_columns = (u32)call[3];                                            \
  const u64 *own = call + CALL + OF_ROW * (u64)ROW;                                                         \
  const struct prime m = prime_at(call[0], own[0]);                                                         \
  const u64 *factors = WORDS(call[1]) + (FACTOR_WORDS * (2 * own[0] + (kind)) << (log_rows + log_columns))

/* Grid: columns / 16 tiles of 16 columns; rows of the call. Threads: the number of rows. */
KERNEL(NAME(forward_first), MOST) {
  SHARED(value, tile, TILE);
  PRIVATE(value, v, 16, MOST);
  TRANSFORM(0);
  const u32 apart = 1u << (log_rows - 4), skipped = 8 - log_rows;
  const u64 *from = WORDS(own[1]) + 16 * BLOCK;
  u64 *to = WORDS(own[2]) + 16 * BLOCK;
  PHASE
    const u32 column = thread & 15, t = thread >> 4;
    UNROLL for (u32 j = 0; j < 16; j++)
      OWN(v)[j] = entered(m, from[((u64)(t + apart * j) << log_columns) + column]);
    forward16(m, OWN(v), factors, 1, 0);
    UNROLL for (u32 j = 0; j < 16; j++) tile[PADDED((t + apart * j) * 16 + column)] = OWN(v)[j];
  END
  PHASE
    const u32 column = thread & 15, t = thread >> 4;
    UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = tile[PADDED((16 * t + j) * 16 + column)];
    forward16(m, OWN(v), factors, apart + t, skipped);
    UNROLL for (u32 j = 0; j < 16; j++) to[((u64)(16 * t + j) << log_columns) + column] = left(m, OWN(v)[j]);
  END
}

/* Grid: rows / 16 tiles of 16 pieces; rows of the call. Threads: the number of columns. In place. */
CROWDED(NAME(forward_second), MOST, RESIDENT) {
  SHARED(value, tile, TILE);
  PRIVATE(value, v, 16, MOST);
  TRANSFORM(0);
  const u32 log_apart = log_columns - 4, apart = 1u << log_apart, skipped = 8 - log_columns;
  u64 *row = WORDS(own[2]) + ((u64)16 * BLOCK << log_columns);
  const u64 root = ((u64)1 << log_rows) + 16 * BLOCK;
  PHASE
    const u32 piece = thread >> log_apart, t = thread & (apart - 1);
    UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = resumed(row[(piece << log_columns) + t + apart * j]);
    forward16(m, OWN(v), factors, root + piece, 0);
    UNROLL for (u32 j = 0; j < 16; j++) tile[PADDED((piece << log_columns) + t + apart * j)] = OWN(v)[j];
  END
  PHASE
    const u32 piece = thread >> log_apart, t = thread & (apart - 1);
    UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = tile[PADDED((piece << log_columns) + 16 * t + j)];
    forward16(m, OWN(v), factors, ((root + piece) << log_apart) + t, skipped);
    UNROLL for (u32 j = 0; j < 16; j++) tile[PADDED((piece << log_columns) + 16 * t + j)] = OWN(v)[j];
  END
  PHASE
    if (own[3]) {
      const u64 *ending = call + own[3], first = (u64)16 * BLOCK << log_columns;
      /* Read again, and rolled: registers are few. */
      const struct prime again = prime_at(call[0], own[0]);
      ROLLED for (u32 j = 0; j < 16; j++) {
        const u32 at = thread + (j << log_columns);
        WORDS(ending[0])[first + at] = ended(again, ending, first + at, residue(again, tile[PADDED(at)]));
      }
    } else
      UNROLL for (u32 j = 0; j < 16; j++) {
        const u32 at = thread + (j << log_columns);
        row[at] = residue(m, tile[PADDED(at)]);
      }
  END
}

/* Grid and threads: as forward_second. */
KERNEL(NAME(inverse_first), MOST) {
  SHARED(value, tile, TILE);
  PRIVATE(value, v, 16, MOST);
  TRANSFORM(1);
  const u32 log_apart = log_columns - 4, apart = 1u << log_apart, skipped = 8 - log_columns;
  const u64 *from = WORDS(own[1]) + ((u64)16 * BLOCK << log_columns);
  u64 *to = WORDS(own[2]) + ((u64)16 * BLOCK << log_columns);
  const u64 root = ((u64)1 << log_rows) + 16 * BLOCK;
  PHASE
    UNROLL for (u32 j = 0; j < 16; j++) {
      const u32 at = thread + (j << log_columns);
      tile[PADDED(at)] = entered(m, from[at]);
    }
  END
  PHASE
    const u32 piece = thread >> log_apart, t = thread & (apart - 1);
    UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = tile[PADDED((piece << log_columns) + 16 * t + j)];
    inverse16(m, OWN(v), factors, ((root + piece) << log_apart) + t, skipped, 0);
    UNROLL for (u32 j = 0; j < 16; j++) tile[PADDED((piece << log_columns) + 16 * t + j)] = OWN(v)[j];
  END
  PHASE
    const u32 piece = thread >> log_apart, t = thread & (apart - 1);
    UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = tile[PADDED((piece << log_columns) + t + apart * j)];
    inverse16(m, OWN(v), factors, root + piece, 0, 4 - skipped);
    UNROLL for (u32 j = 0; j < 16; j++) to[(piece << log_columns) + t + apart * j] = left(m, OWN(v)[j]);
  END
}

/* Grid and threads: as forward_first. In place; times the weight. */
KERNEL(NAME(inverse_second), MOST) {
  SHARED(value, tile, TILE);
  PRIVATE(value, v, 16, MOST);
  TRANSFORM(1);
  const u32 apart = 1u << (log_rows - 4), skipped = 8 - log_rows;
  u64 *row = WORDS(own[2]) + 16 * BLOCK;
  PHASE
    const u32 column = thread & 15, t = thread >> 4;
    UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = resumed(row[((u64)(16 * t + j) << log_columns) + column]);
    inverse16(m, OWN(v), factors, apart + t, skipped, 0);
    UNROLL for (u32 j = 0; j < 16; j++) tile[PADDED((16 * t + j) * 16 + column)] = OWN(v)[j];
  END
  PHASE
    const u32 column = thread & 15, t = thread >> 4;
    UNROLL for (u32 j = 0; j < 16; j++) OWN(v)[j] = tile[PADDED((t + apart * j) * 16 + column)];
    inverse16(m, OWN(v), factors, 1, 0, 4 - skipped);
    UNROLL for (u32 j = 0; j < 16; j++)
      row[((u64)(t + apart * j) << log_columns) + column] = weighted(m, OWN(v)[j], own + 3);
  END
}

#undef CALL
#undef OF_ROW
#undef MOST
#undef PADDED
#undef TILE
#undef TRANSFORM

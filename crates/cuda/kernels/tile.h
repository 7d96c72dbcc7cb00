/* Transforms of rows of 512 to 2,048 points in a block's shared memory: each by a team of n / 16 threads, which hold 16
 * values, four teams a block. Levels come in three groups, the first two of four levels, with an exchange through the row
 * after each. Factors lie as for transform.h; ranges are those of floating.h.
 *
 * A place x of a row is word PADDED(x): threads of a warp meet in no bank. */
#define PADDED(x) ((x) + ((x) >> 4))
#define TEAMS 4
#define THREADS 512
/* Doubles of shared memory: eight rows, and twice as many values as a row has, with gaps of 32. */
#define MOST_DYNAMIC (8 * PADDED(2048) + 4096 + 32)

struct transform {
  struct prime m;
  const u64 *down, *up;
  u32 log_n;
};

/* The first prime of a table. */
DEVICE struct transform transform_at(u64 primes, u64 factors, u64 log_n) {
  const struct transform f = {prime_at(primes, 0), WORDS(factors), WORDS(factors) + ((u64)1 << log_n), (u32)log_n};
  return f;
}

/* Places of a thread's values, each its own and a distance that all threads share: n / 16 apart for the first group,
 * n / 256 for the middle one, neighbours for the last. */
#define APART(j) ((j) << (f->log_n - 4))
#define NEAR(j) ((j) << (f->log_n - 8))
#define FIRST(j) (PADDED(t) + PADDED(APART(j)))
#define MIDDLE(j) (PADDED(APART(t >> (f->log_n - 8)) + (t & (NEAR(1) - 1))) + PADDED(NEAR(j)))
#define LAST(j) (17 * t + (j))
#define TEAM const u32 team = thread >> (f->log_n - 4), t = thread & ((1u << (f->log_n - 4)) - 1);
#define EACH UNROLL for (u32 j = 0; j < 16; j++)

/* From small values, in `v`. */
DEVICE void down_first(const struct transform *f, double *v, double *row, u32 t) {
  levels16(f->m, v, f->down, 1, 0);
  EACH row[FIRST(j)] = v[j];
}

DEVICE void down_middle(const struct transform *f, double *row, u32 t) {
  double v[16];
  EACH v[j] = row[MIDDLE(j)];
  forward16(f->m, v, f->down, 16 + (t >> (f->log_n - 8)), 0);
  EACH row[MIDDLE(j)] = v[j];
}

/* To values of at most q/2. */
DEVICE void down_last(const struct transform *f, double *row, u32 t) {
  double v[16];
  EACH v[j] = row[LAST(j)];
  forward16(f->m, v, f->down, (1u << (f->log_n - 4)) + t, 12 - f->log_n);
  EACH row[LAST(j)] = centred(f->m, v[j]);
}

DEVICE void up_first(const struct transform *f, double *row, u32 t) {
  double v[16];
  EACH v[j] = row[LAST(j)];
  inverse16(f->m, v, f->up, (1u << (f->log_n - 4)) + t, 12 - f->log_n, 0);
  EACH row[LAST(j)] = v[j];
}

DEVICE void up_middle(const struct transform *f, double *row, u32 t) {
  double v[16];
  EACH v[j] = row[MIDDLE(j)];
  inverse16(f->m, v, f->up, 16 + (t >> (f->log_n - 8)), 0, 0);
  EACH row[MIDDLE(j)] = v[j];
}

/* Without the factor 1 / n, to `v`. */
DEVICE void up_last(const struct transform *f, double *v, const double *row, u32 t) {
  EACH v[j] = row[FIRST(j)];
  inverse16(f->m, v, f->up, 1, 0, 0);
}

/* How residues are cut into digits: a fraction of some bits, of which a digit takes those from `top` on. */
struct gadget { u64 ratio, offset; u32 top, bits; };

DEVICE struct gadget gadget_at(const u64 *call) {
  const struct gadget g = {call[0], call[1], (u32)call[2], (u32)call[3]};
  return g;
}

DEVICE u64 fraction(struct gadget g, u64 x) {
  return ((HIGH(x, g.ratio) << 12) | ((x * g.ratio) >> 52)) + g.offset;
}

/* Digit i of a fraction, signed. */
DEVICE double digit(struct gadget g, u64 fraction, u32 i) {
  const u64 all = (fraction >> (g.top - g.bits * i)) & (((u64)1 << g.bits) - 1);
  return ADD(FLOAT_OF(all | 0x4330000000000000ull), -ADD(TWO52, (double)((u64)1 << (g.bits - 1))));
}

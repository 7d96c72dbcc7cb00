// The board and the last digest as each side sees them, drawn from the calls that were made.

const COLUMNS = 12;
const ROWS = 6;
const CELL = 17;
const PITCH = 20;
const WIDTH = COLUMNS * PITCH - (PITCH - CELL);
const HEIGHT = ROWS * PITCH;
const DIGEST = 26;
const KEYS = 10;
const GAP = 12;

export interface View {
  /** Messages on the board. */
  messages: number;
  /** Whether messages from one place up to another are drawn apart, and how. */
  mark: (from: number, to: number) => string;
  label: string;
  /** The last digest: letters that are seen in it; nothing before there is one. */
  digest: number | undefined;
  /** Whether its letters are seen. */
  opened: boolean;
  /** Keys that were sent since the page was opened, as far as they came. */
  keys: { done: number; total: number }[];
}

/** Messages that one square stands for. */
export function perSquare(messages: number): number {
  return Math.max(1, Math.ceil(messages / (COLUMNS * ROWS)));
}

export function Picture({ messages, mark, label, digest, opened, keys }: View) {
  const each = perSquare(messages);
  const kind = (i: number) => (i * each < messages ? mark(i * each, Math.min((i + 1) * each, messages)) : "free");
  const below = HEIGHT + GAP + DIGEST;
  const height = below + (keys.length > 0 ? GAP + KEYS : 0);
  return (
    <svg class="picture" viewBox={`-1 -1 ${WIDTH + 2} ${height + 2}`} role="img" aria-label={label}>
      <Squares rows={ROWS} kind={kind} />
      <g transform={`translate(0 ${HEIGHT + GAP})`}>
        <Digest letters={digest} opened={opened} />
      </g>
      <g transform={`translate(0 ${below + GAP})`}>
        <Keys keys={keys} />
      </g>
    </svg>
  );
}

function Squares({ rows, kind }: { rows: number; kind: (square: number) => string }) {
  const squares = Array.from({ length: COLUMNS * rows }, (_, i) => (
    <rect
      key={i}
      class={`post ${kind(i)}`}
      x={(i % COLUMNS) * PITCH}
      y={Math.floor(i / COLUMNS) * PITCH}
      width={CELL}
      height={CELL}
      rx={3}
    />
  ));
  return <>{squares}</>;
}

/** Rows of the board that explains the page. */
const FEW = 4;
/** Whose letters are hers on it. */
const HERS = [5, 20, 22, 39];

/** A board as both sides see it, for somebody who has none yet. */
export function Explained() {
  const box = `-1 -1 ${WIDTH + 2} ${FEW * PITCH - 1}`;
  return (
    <div class="pair explained">
      <figure class="theirs">
        <figcaption>The server sees</figcaption>
        <svg class="picture" viewBox={box} role="img" aria-label="Letters, none different from another.">
          <Squares rows={FEW} kind={() => "sealed"} />
        </svg>
      </figure>
      <figure class="yours">
        <figcaption>You see</figcaption>
        <svg class="picture" viewBox={box} role="img" aria-label="The same letters: four of them are yours.">
          <Squares rows={FEW} kind={(square) => (HERS.includes(square) ? "mine" : "other")} />
        </svg>
      </figure>
    </div>
  );
}

/** Blocks as long as keys are, filled as they come. */
function Keys({ keys }: Pick<View, "keys">) {
  const all = keys.reduce((sum, { total }) => sum + total, 0);
  let left = 0;
  const blocks = keys.map(({ done, total }, i) => {
    const [x, width] = [left, (WIDTH * total) / all - 3];
    left += width + 3;
    return (
      <g key={i}>
        <rect class="sheet" x={x} y={0} width={width} height={KEYS} rx={3} />
        <rect class="stripe" x={x} y={0} width={(width * done) / total} height={KEYS} rx={3} />
      </g>
    );
  });
  return <>{blocks}</>;
}

const STRIPES = 36;

/** A sheet of stripes that look all alike, but to whom it opens for. */
function Digest({ letters, opened }: { letters: number | undefined; opened: boolean }) {
  if (letters === undefined)
    return <rect class="sheet free" x={0.5} y={0.5} width={WIDTH - 1} height={DIGEST - 1} rx={4} />;
  const pitch = (WIDTH - 16) / STRIPES;
  const stripes = Array.from({ length: STRIPES }, (_, i) => {
    const found = opened && i < letters;
    return (
      <rect
        key={i}
        class={`stripe ${found ? "mine" : ""}`}
        x={8 + i * pitch}
        y={6}
        width={pitch * 0.6}
        height={DIGEST - 12}
        rx={1}
      />
    );
  });
  return (
    <>
      <rect class="sheet" x={0.5} y={0.5} width={WIDTH - 1} height={DIGEST - 1} rx={4} />
      {stripes}
    </>
  );
}

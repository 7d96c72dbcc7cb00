// A text as a QR code.
import { generate } from "lean-qr/nano";

/** Light modules around the code, which readers need. */
const BORDER = 3;

export function Code({ text }: { text: string }) {
  const code = generate(text);
  const dark: string[] = [];
  for (let y = 0; y < code.size; y++) {
    for (let x = 0; x < code.size; x++) if (code.get(x, y)) dark.push(`M${x + BORDER} ${y + BORDER}h1v1h-1z`);
  }
  const size = code.size + 2 * BORDER;
  return (
    <svg
      class="code"
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label="The address as a QR code"
      shape-rendering="crispEdges"
    >
      <rect class="paper" width={size} height={size} />
      <path d={dark.join("")} />
    </svg>
  );
}

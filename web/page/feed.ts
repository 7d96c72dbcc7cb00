// What is seen of calls, kept until somebody looks.
import type { Seen } from "../src/index.js";

export class Feed {
  #kept: Seen[] = [];
  #to: ((seen: Seen) => void) | undefined;

  readonly push = (seen: Seen): void => {
    if (this.#to === undefined) this.#kept.push(seen);
    else this.#to(seen);
  };

  /** Tells all that was kept, then everything as it comes. */
  listen(to: ((seen: Seen) => void) | undefined): void {
    this.#to = to;
    if (to === undefined) return;
    for (const seen of this.#kept.splice(0)) to(seen);
  }
}

// A server cannot tell a page from the command by what either asks for: the same calls, of the same sizes.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { recorder, startProxy } from "./calls.mjs";
import { open, read, register, send } from "./people.mjs";

/** Messages of a stranger's letter before each fetch: with 70 of them, scans find without payloads, and queries follow. */
const LETTERS = [0, 1, 3, 70, 0, 2];

export async function same(server, dora, writer, to, omr, shown, folder) {
  const proxy = await startProxy(server.url, shown);
  try {
    const page = await dora.page();
    const taken = recorder(dora.context, shown);
    await open(page, { server: server.url });
    await register(page);
    await omr("id", "new", "--server", proxy.url);
    const { stdout } = await omr("id", "publish");
    const own = stdout.match(/omr1\S+/)[0];
    // Both asked for what follows alone.
    const same = (of) => {
      const [found, expected] = [taken(), proxy.take()];
      assert.ok(expected.length > 1, expected.join("\n"));
      assert.deepEqual(found, expected, of);
    };
    taken();
    proxy.take();
    for (const messages of LETTERS) {
      if (messages > 0) await send(writer, to, "x".repeat(500 * messages));
      await read(page);
      await omr("inbox");
      same(`a fetch after ${messages} messages`);
    }
    for (const file of ["letter.txt", "long.txt"]) {
      await send(page, to, await readFile(join(folder, file), "utf8"), file);
      await omr("send", "--to", own, file);
      same(file);
    }
  } finally {
    proxy.stop();
  }
}

// What tests in Chromium put into a page beside the package.
import { given, service } from "../src/service.js";
import { Database, DATABASE } from "../src/database.js";
import init, { Identity, sealingTag, Writer } from "../src/wasm/omr_wasm.js";

/** Milliseconds in which a message with its clue is sealed, on average over some. */
async function sealing(server: string, module: string, count: number): Promise<number> {
  await init({ module_or_path: module });
  const { board } = await service(server, undefined).capabilities.getCapabilities({});
  const { boardId, paramsId, sealing, clueBytes, payloadBytes } = given("a board", board);
  const to = Identity.generate(paramsId).clueKey;
  const writer = new Writer(to, sealingTag(sealing), boardId, paramsId, sealing, clueBytes, payloadBytes);
  const letter = new TextEncoder().encode("a letter");
  writer.write(undefined, letter);
  const start = performance.now();
  for (let i = 0; i < count; i++) writer.write(undefined, letter);
  return (performance.now() - start) / count;
}

/** Has the server forget the keys of the page's recipient. */
async function forgotten(server: string): Promise<void> {
  const kept = given("a recipient", await (await Database.open(DATABASE)).load());
  for (const { hash } of kept.keys) await service(server, undefined).keys.revokeKey({ keyHash: given("a hash", hash ?? undefined) });
}

Object.assign(globalThis, { forgotten, sealing });

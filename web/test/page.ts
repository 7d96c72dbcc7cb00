// What the test in Chromium puts into a page beside the package.
import { given, service } from "../src/service.js";
import init, { Identity, sealingTag, Writer } from "../src/wasm/omr_wasm.js";

/** Milliseconds in which a message with its clue is sealed, on average over some. */
async function sealing(server: string, module: string, count: number): Promise<number> {
  await init({ module_or_path: module });
  const { board } = await service(server, undefined).capabilities.getCapabilities({});
  const { boardId, paramsId, sealing, clueBytes, payloadBytes } = given("a board", board);
  const to = Identity.generate(paramsId, true).clueKey;
  const writer = new Writer(to, sealingTag(sealing), boardId, paramsId, sealing, clueBytes, payloadBytes);
  const letter = new TextEncoder().encode("a letter");
  writer.write(undefined, letter);
  const start = performance.now();
  for (let i = 0; i < count; i++) writer.write(undefined, letter);
  return (performance.now() - start) / count;
}

Object.assign(globalThis, { sealing });

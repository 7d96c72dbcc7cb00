// A running server and a recipient. The variable OMR_COMMAND names `omr`.
import { execFile, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

const COMMAND = process.env.OMR_COMMAND;
const OPEN = "[access]\nanonymous_post = true\nanonymous_detect = true\n";
/** The configuration of a server to which posts prove work. */
export const WORK = "posting_work_bits = 6\n";

/** A folder with a server and the identity `ann`. */
export async function scene(t, config = WORK) {
  const cwd = await mkdtemp(join(tmpdir(), "omr-ts-"));
  await writeFile(join(cwd, "omr.toml"), OPEN + config);
  const set = ["--params", "insecure-tiny-hybrid-v4"];
  const args = ["serve", "--config", "omr.toml", "--listen", "127.0.0.1:0", "--data", "data", ...set];
  const serving = spawn(COMMAND, args, { cwd, stdio: ["ignore", "pipe", "ignore"] });
  t.after(async () => {
    const ended = new Promise((resolve) => serving.once("exit", resolve));
    serving.kill("SIGINT");
    await ended;
    await rm(cwd, { recursive: true });
  });
  let url;
  for await (const line of createInterface({ input: serving.stdout })) {
    url = line.match(/^listening on (.*)$/)?.[1];
    if (url !== undefined) break;
  }
  const omr = async (...all) => (await promisify(execFile)(COMMAND, all, { cwd })).stdout;
  await omr("id", "new", "--home", "ann", "--server", url);
  const inbox = async () => {
    const { messages } = JSON.parse(await omr("inbox", "--home", "ann", "--all", "--json"));
    const read = ({ number, name }) => omr("inbox", "read", "--home", "ann", String(number)).then((body) => [name, body]);
    return Promise.all(messages.map(read));
  };
  return { url, omr, inbox, address: () => omr("address", "--home", "ann") };
}

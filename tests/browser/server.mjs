// A server of the smallest parameter set on an empty folder and a free port.
import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const TINY = "insecure-tiny-hybrid-v4";
// Long enough for a machine that does other work.
const PATIENCE_MS = 60_000;

// `origins` are those of the pages that may call, `mail` is the folder of the page for letters; without `params` the
// server takes its default. With `tables`, which are files, it is a server of those.
export async function startServer({ origins = [], mail, tables, params = TINY } = {}) {
  const data = await mkdtemp(join(tmpdir(), "omr-browser-"));
  const config = join(data, "omr.toml");
  const page = mail === undefined ? "" : `[page]\nmail = ${JSON.stringify(mail)}\n`;
  await writeFile(config, `[access]\norigins = ${JSON.stringify(origins)}\n${page}`);
  const command = tables === undefined ? ["serve"] : ["pdq", "serve", ...tables];
  const args = [...command, "--anonymous", "--config", config, "--listen", "127.0.0.1:0", "--data", data];
  if (params) args.push("--params", params);
  const server = spawn(process.env.OMR_COMMAND, args, { stdio: ["ignore", "pipe", "pipe"] });
  let [out, log] = ["", ""];
  server.stderr.on("data", (bytes) => (log += bytes));
  const ended = new Promise((resolve) => {
    server.on("error", (error) => resolve((log += error)));
    server.on("close", resolve);
  });
  const url = await new Promise((resolve, reject) => {
    const fail = (why) => reject(new Error(`${why}; the server said:\n${out}${log}`));
    const timer = setTimeout(() => fail("no line `listening on`"), PATIENCE_MS);
    ended.then(() => fail("the server ended"));
    server.stdout.on("data", (bytes) => {
      out += bytes;
      const found = /^listening on (\S+)$/m.exec(out);
      if (found) {
        clearTimeout(timer);
        resolve(found[1]);
      }
    });
  });
  return {
    url,
    log: () => log,
    async stop() {
      server.kill("SIGTERM");
      await ended;
      await rm(data, { recursive: true });
    },
  };
}

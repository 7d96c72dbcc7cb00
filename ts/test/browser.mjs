// Letters from a page in Chromium, read by the command. Beside OMR_COMMAND, OMR_CHROMIUM names the browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { scene, WORK } from "./scene.mjs";

const { launch } = await import(pathToFileURL(join(process.env.OMR_ROOT, "tests/browser/tools.mjs")));
const PAGE = "<!doctype html><title>omr</title><link rel=icon href='data:,'><script type=module src=/page.js></script>";

/** Serves the page, whose policy allows its script and calls to one server. */
async function site(t) {
  const script = await readFile(new URL("../tested/page.js", import.meta.url));
  let policy = "default-src 'none'";
  const server = createServer(({ url }, response) => {
    response.setHeader("content-security-policy", policy);
    if (url === "/page.js") return response.setHeader("content-type", "text/javascript").end(script);
    response.setHeader("content-type", "text/html").end(PAGE);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const allow = (url) => (policy = `default-src 'none'; script-src 'self'; img-src data:; connect-src ${url}`);
  return { origin: `http://127.0.0.1:${server.address().port}`, allow };
}

test("letters of a page arrive, from origins that the server lists", async (t) => {
  const { origin, allow } = await site(t);
  const { url, omr, inbox } = await scene(t, `${WORK}origins = [${JSON.stringify(origin)}]\n`);
  const { url: deaf } = await scene(t);
  const short = (await omr("id", "publish", "--home", "ann")).split(/\s/)[0];
  const browser = await launch();
  t.after(() => browser.close());
  const opened = async (server) => {
    allow(server);
    const page = await browser.newPage();
    await page.goto(origin);
    await page.waitForFunction(() => globalThis.send !== undefined);
    return (name, content) =>
      page.evaluate((all) => globalThis.send(...all), [server, short, name, content]);
  };
  const send = await opened(url);
  const long = "a long letter of a page\n".repeat(300);
  assert.equal(await send("hello.txt", "hello from a page"), 1);
  assert.ok((await send("long.txt", long)) > 1);
  assert.deepEqual(await inbox(), [["hello.txt", "hello from a page"], ["long.txt", long]]);
  await assert.rejects((await opened(deaf))("hello.txt", "hello"), /fetch/i);
});

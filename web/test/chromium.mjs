// The package in Chromium against a running server, as `cargo xtask web` calls it; `--real`: of the default set.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { startServer } from "../../tests/browser/server.mjs";
import { launch } from "../../tests/browser/tools.mjs";
import { peaks } from "./memory.mjs";
import { startSite } from "./site.mjs";

const real = process.argv.includes("--real");
/** How often a page is closed while it fetches. */
const KILLS = real ? 40 : 4;
const run = promisify(execFile);
const passed = (what) => console.log(`web: ${what}: ok`);
const figure = (what, value) => console.log(`web: ${what}: ${value}`);

const site = await startSite(process.env.OMR_WEB);
const params = real ? null : "insecure-tiny-hybrid-v4";
const servers = [await startServer({ origins: [site.origin], params }), await startServer({ params })];
const [server, closed] = servers;
site.allow(servers.map(({ url }) => url));
const folder = await mkdtemp(join(tmpdir(), "omr-web-"));
let browser;
try {
  browser = await launch();
  const [alice, bob] = [await person(), await person()];
  await refusals(await alice.page());
  await keys(alice);
  await letters(alice, bob);
  await kills(alice, bob.open);
  await natives(alice);
  for (const one of [alice, bob]) one.check();
} catch (error) {
  console.error(server.log());
  throw error;
} finally {
  await browser?.close();
  await Promise.all([...servers.map((one) => one.stop()), site.stop(), rm(folder, { recursive: true })]);
}

// Somebody with storage of her own, whose pages may go away.
async function person() {
  const context = await browser.newContext();
  const complaints = [];
  const own = (url) => [site.origin, server.url, closed.url].some((base) => url.startsWith(base)) || /^(data|blob):/.test(url);
  context.on("request", (request) => own(request.url()) || complaints.push(`a request to ${request.url()}`));
  return {
    async page() {
      const page = await context.newPage();
      page.on("pageerror", (error) => complaints.push(String(error)));
      await page.goto(site.origin);
      await page.evaluate(async () => {
        globalThis.omr = await import("/dist/index.js");
        globalThis.open = async (options) => {
          globalThis.me = await globalThis.omr.Recipient.open({ passphrase: "correct horse", allowOld: true, ...options });
          return globalThis.me.address;
        };
      });
      return page;
    },
    check: () => assert.deepEqual(complaints, []),
  };
}

async function refusals(page) {
  const open = (options) => page.evaluate((options) => globalThis.open(options), options);
  await assert.rejects(open({ server: closed.url, database: "closed" }), /fetch|origin/i);
  await assert.rejects(open({ server: server.url, database: "empty", passphrase: "" }), /passphrase/);
  await page.close();
  passed("a page calls where its origin is listed, and not elsewhere");
}

// Her keys are made and sent, by a page that is closed on the way and by another one.
async function keys(alice) {
  let page = await alice.page();
  const start = Date.now();
  const address = await page.evaluate((url) => globalThis.open({ server: url }), server.url);
  assert.match(address, new RegExp(`^omr1[a-z0-9]+@${server.url}$`));
  if (!real) {
    // The first chunk passes, no other arrives.
    let chunks = 0;
    await page.route("**/omr.v1.KeyService/UploadChunk", (route) => (chunks++ === 0 ? route.continue() : route.abort()));
    const sent = await page.evaluate(async () => {
      const told = [];
      const failed = globalThis.me.register((progress) => told.push(progress)).then(() => false, () => true);
      if (!(await failed)) throw new Error("all chunks arrived");
      return told.findLast(({ stage, done, total }) => stage === "sending" && done > 0 && done < total);
    });
    await page.close();
    page = await alice.page();
    const wrong = page.evaluate((url) => globalThis.open({ server: url, passphrase: "wrong" }), server.url);
    await assert.rejects(wrong, /the passphrase is wrong/);
    assert.equal(await page.evaluate((url) => globalThis.open({ server: url }), server.url), address);
    assert.equal(await page.evaluate(() => globalThis.me.ready()), false);
    const told = await register(page);
    const again = told.find(({ stage, what }) => stage === "sending" && what === sent.what);
    assert.equal(again.done, sent.done, "nothing is sent again");
    passed("an upload goes on where the page was closed");
  } else {
    await register(page);
    figure("ready to receive", `${((Date.now() - start) / 1000).toFixed(1)} s`);
    for (const [kind, bytes] of await peaks(browser)) figure(`memory of ${kind} at most`, `${(bytes / 1e6).toFixed(0)} MB`);
  }
  assert.equal(await page.evaluate(() => globalThis.me.ready()), true);
  alice.open = page;
  alice.address = address;
}

async function register(page) {
  return await page.evaluate(async () => {
    const told = [];
    await globalThis.me.register((progress) => told.push(progress));
    return told;
  });
}

// Another person's page writes to her, a text and a file of many parts; hers reads them.
async function letters(alice, bob) {
  const page = await bob.page();
  bob.open = page;
  await page.evaluate((url) => globalThis.open({ server: url }), server.url);
  const sent = await page.evaluate(async (address) => {
    const text = await globalThis.me.send(address, "hello Alice");
    const file = Uint8Array.from({ length: 5000 }, (_, i) => (i * 7) % 251);
    return [text, await globalThis.me.send(address, file, "a file.bin")].map(({ indices }) => indices);
  }, alice.address);
  assert.deepEqual(sent, [[0], Array.from({ length: sent[1].length }, (_, i) => i + 1)]);
  await assert.rejects(
    page.evaluate((address) => globalThis.me.send(address, new Uint8Array(200_000)), alice.address),
    /a letter of at most 250 messages/,
  );
  await assert.rejects(page.evaluate((address) => globalThis.me.send(address, "x"), `x${alice.address}`), /omr1/);
  const { letters, milliseconds } = await read(alice.open);
  assert.deepEqual(letters.map(({ index, name }) => [index, name]), [[0, undefined], [1, "a file.bin"]]);
  assert.equal(Buffer.from(letters[0].bytes).toString(), "hello Alice");
  assert.deepEqual(letters[1].bytes, Array.from({ length: 5000 }, (_, i) => (i * 7) % 251));
  passed("letters of one page are read by another");
  await page.evaluate((address) => globalThis.me.send(address, "once more"), alice.address);
  const later = await read(alice.open);
  assert.equal(later.letters.length, 3);
  figure("first decode, with tables; later", `${milliseconds.toFixed(1)} ms; ${later.milliseconds.toFixed(1)} ms`);
  const seal = await page.evaluate(async (url) => {
    await import("/tested/page.js");
    return await globalThis.sealing(url, "/dist/omr_wasm_bg.wasm", 50);
  }, server.url);
  figure("a message sealed with its clue", `${seal.toFixed(2)} ms`);
}

// Fetches; gives all letters.
async function read(page) {
  return await page.evaluate(async () => {
    const fetched = await globalThis.me.fetch();
    const letters = [];
    for (const { number } of await globalThis.me.letters()) {
      const letter = await globalThis.me.read(number);
      letters.push({ ...letter, bytes: [...letter.bytes] });
    }
    return { ...fetched, letters };
  });
}

// Letters come once each, wherever in a fetch her page is closed.
async function kills(alice, writer) {
  const before = (await read(alice.open)).letters.length;
  for (let i = 0; i < KILLS; i++) {
    await writer.evaluate(([address, i]) => globalThis.me.send(address, `letter ${i}`), [alice.address, i]);
    await alice.open.evaluate(
      (calls) =>
        new Promise((resolve) => {
          let left = calls;
          globalThis.me.fetch(() => --left < 0 && resolve()).then(resolve, resolve);
          if (calls === 0) setTimeout(resolve, 20);
        }),
      i % 4,
    );
    await alice.open.close();
    alice.open = await alice.page();
    await alice.open.evaluate((url) => globalThis.open({ server: url }), server.url);
  }
  const { letters } = await read(alice.open);
  const texts = letters.slice(before).map(({ bytes }) => Buffer.from(bytes).toString());
  assert.deepEqual(texts, Array.from({ length: KILLS }, (_, i) => `letter ${i}`));
  passed(`${KILLS} letters of ${KILLS} came once, as often as her page was closed in a fetch`);
}

// The command writes to the page, and reads what the page writes and what it exports.
async function natives(alice) {
  const omr = (home, ...args) => run(process.env.OMR_COMMAND, args, { cwd: folder, env: { ...process.env, OMR_HOME: join(folder, home) } });
  await writeFile(join(folder, "letter.txt"), "hello from the command");
  await omr("carl", "send", "--to", alice.address, "letter.txt");
  const last = (await read(alice.open)).letters.at(-1);
  assert.deepEqual([last.name, Buffer.from(last.bytes).toString()], ["letter.txt", "hello from the command"]);
  const old = real ? [] : ["--allow-old"];
  await omr("carl", "id", "new", "--server", server.url, ...old);
  const { stdout } = await omr("carl", "id", "publish");
  const short = stdout.match(/omr1\S+/)[0];
  await alice.open.evaluate((address) => globalThis.me.send(address, "hello Carl"), short);
  await omr("carl", "inbox");
  assert.match((await omr("carl", "inbox", "read", "1")).stdout, /hello Carl/);
  const secret = await alice.open.evaluate(async () => [...(await globalThis.me.secret())]);
  await writeFile(join(folder, "secret.key"), Buffer.from(secret), { mode: 0o600 });
  const imported = await alice.open.evaluate(
    (options) => globalThis.open({ ...options, secret: Uint8Array.from(options.secret) }),
    { server: server.url, database: "imported", secret },
  );
  assert.equal(imported, alice.address);
  const twice = alice.open.evaluate(
    (options) => globalThis.open({ ...options, secret: Uint8Array.from(options.secret) }),
    { server: server.url, database: "imported", secret },
  );
  await assert.rejects(twice, /without a recipient/);
  passed("page and command write to each other, and an exported secret is the same recipient");
}

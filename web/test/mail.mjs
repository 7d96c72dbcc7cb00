// The page for letters in Chromium, as `omr serve` has it and `cargo xtask web` calls this; `--real`: of the default
// set, with pictures for the documents.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { startServer } from "../../tests/browser/server.mjs";
import { launch } from "../../tests/browser/tools.mjs";
import { bend } from "./people.mjs";
import { PASSPHRASE, Person } from "./person.mjs";
import { pictures } from "./pictures.mjs";
import { startSite } from "./site.mjs";

const real = process.argv.includes("--real");
const passed = (what) => console.log(`web: page: ${what}: ok`);
const FILE = { name: "a list.txt", mimeType: "text/plain", buffer: Buffer.from("bread\n".repeat(300)) };
const HOUR = 3_600_000;
const { bent } = await import(pathToFileURL(join(process.env.OMR_WEB, "tested/wire.js")));
/** A file of more posts than a digest or an answer holds. */
const MUCH = { name: "much.bin", mimeType: "application/zip", buffer: Buffer.alloc(36_000, 1) };

const site = await startSite(process.env.OMR_WEB);
const mail = join(process.env.OMR_WEB, real ? "mail" : "mail-tests");
const server = await startServer({ mail, origins: [site.origin], params: real ? null : "insecure-tiny-hybrid-v4" });
site.allow([server.url]);
let [browser, stopped] = [undefined, false];
try {
  browser = await launch();
  const [alice, bob] = [await Person.of(browser, server.url), await Person.of(browser, server.url)];
  if (real) await pictures(alice, bob);
  else await all(alice, bob);
} catch (error) {
  console.error(server.log());
  const pages = browser?.contexts().flatMap((context) => context.pages()) ?? [];
  for (const page of pages) console.error(await page.locator("body").ariaSnapshot());
  throw error;
} finally {
  await browser?.close();
  await site.stop();
  if (!stopped) await server.stop();
}

async function all(alice, bob) {
  await refusals(alice);
  await stuck();
  const address = await keyboard(alice);
  await letters(alice, bob, address);
  await again(alice);
  const [ann, ben] = await senders();
  const carol = await elsewhere(alice);
  await later(carol, address);
  const olga = await overflow();
  const dora = await files(address);
  for (const one of [alice, bob, ann, ben, carol, olga, dora]) one.check();
  await offline(alice);
}

// What cannot be used is told beside the field.
async function refusals(alice) {
  const page = await alice.visit();
  await alice.accessible("the start");
  await whole(page);
  await page.getByLabel("Passphrase").fill("short");
  await page.getByRole("button", { name: "Make my address" }).click();
  await page
    .getByRole("alert")
    .getByText(/at least 8 characters/)
    .waitFor();
  await page.getByRole("button", { name: "Suggest" }).click();
  assert.match(await page.getByLabel("Passphrase").inputValue(), /^([a-z]{5}-){4}[a-z]{5}$/);
  await page.getByRole("button", { name: /identity file/ }).click();
  await page.getByLabel("Identity file").setInputFiles(FILE);
  await page.getByLabel("Passphrase").fill("anything");
  await page.getByRole("button", { name: "Use this identity" }).click();
  await page
    .getByRole("alert")
    .getByText(/expected the file of an identity/)
    .waitFor();
  const second = await alice.context.newPage();
  await second.goto(page.url());
  await second
    .getByRole("alert")
    .getByText(/another tab/)
    .waitFor();
  await Promise.all([second.close(), page.close()]);
  passed("what cannot be used is told, and a second tab");
}

// The form's button is seen without scrolling, on phones too, and all places are in one row.
async function whole(page) {
  const before = page.viewportSize();
  for (const [width, height] of [[390, 844], [320, 568]]) {
    await page.setViewportSize({ width, height });
    const { y, height: tall } = await page.getByRole("button", { name: "Make my address" }).boundingBox();
    assert.ok(y + tall <= height, `a button that ends at ${y + tall} of ${height}`);
  }
  await page.setViewportSize(before);
}

async function row(page) {
  const before = page.viewportSize();
  await page.setViewportSize({ width: 320, height: 568 });
  const places = await page.getByRole("navigation").getByRole("link").all();
  const boxes = await Promise.all(places.map((place) => place.boundingBox()));
  assert.equal(new Set(boxes.map(({ y }) => y)).size, 1, "places are in one row");
  assert.equal(new Set(boxes.map(({ height }) => height)).size, 1, "none of them takes two lines");
  assert.ok(boxes.every(({ x, width }) => x >= 0 && x + width <= 320), "places are within the window");
  await page.setViewportSize(before);
}

// Keys that do not arrive are told, and sent again from where they were.
async function stuck() {
  const eve = await Person.of(browser, server.url);
  const page = await eve.visit();
  await page.route("**/omr.v1.KeyService/UploadChunk", (route) => route.abort());
  await page.getByLabel("Passphrase").fill(PASSPHRASE);
  await page.getByRole("button", { name: "Make my address" }).click();
  await page.getByRole("alert").getByText(/keys are not at the server yet.* cannot be reached/).waitFor();
  await eve.accessible("keys that do not arrive");
  await page.unroute("**/omr.v1.KeyService/UploadChunk");
  await page.getByRole("button", { name: "Try again" }).click();
  await eve.ready();
  await page.close();
  passed("keys that do not arrive are told and sent later");
}

// She makes an identity, writes to herself and reads it, without a mouse.
async function keyboard(alice) {
  const page = await alice.visit();
  const { keyboard } = page;
  await alice.tab("Passphrase");
  await keyboard.type(PASSPHRASE);
  await alice.tab("Make my address");
  await keyboard.press("Enter");
  await alice.ready();
  const address = await alice.address();
  await alice.accessible("her address");
  assert.equal(await page.getByRole("button", { name: "Share" }).count(), 0);
  await alice.tab("Letters");
  await alice.tab("Write");
  await keyboard.press("Enter");
  await alice.tab("To");
  await keyboard.type(address);
  await alice.tab("Text");
  await keyboard.type("A note to myself");
  await alice.tab("Send");
  await keyboard.press("Enter");
  await page.getByText(/1 letter sent to/).waitFor();
  await alice.accessible("writing");
  await page.close();
  await alice.visit();
  await alice.accessible("locked");
  await alice.tab("Passphrase");
  await alice.page.keyboard.type(PASSPHRASE);
  await alice.page.keyboard.press("Enter");
  await alice.ready();
  await alice.tab("Letters");
  await alice.page.keyboard.press("Enter");
  await alice.tab("Unread: A note to myself");
  await alice.page.keyboard.press("Enter");
  await alice.page.getByRole("heading", { level: 1, name: "A note to myself" }).waitFor();
  await alice.accessible("a letter");
  await alice.page.close();
  passed("with the keyboard alone: an identity, a letter written and read");
  return address;
}

// Two people write to each other; hers come at a visit that the clock decides, and both pictures show them.
async function letters(alice, bob, address) {
  const bobs = await bob.make();
  await bob.send(address, "Dear Alice,\nhow are you?", [FILE]);
  await bob.page.getByText(/2 letters sent to/).waitFor();
  const page = await alice.visit({ clock: true });
  await alice.unlock();
  await alice.ready();
  assert.deepEqual(await alice.letters(), ["a list.txt", "Dear Alice,", "A note to myself"]);
  await alice.accessible("her letters");
  await row(page);
  await alice.read("a list.txt");
  // On a desk the list stays beside it, on a phone it does not.
  const list = page.getByRole("region", { name: "All letters" });
  assert.equal(await list.isVisible(), true);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await list.isVisible(), false);
  await page.getByRole("link", { name: "← All letters" }).click();
  await page.getByRole("heading", { level: 1, name: "Letters" }).waitFor();
  await page.setViewportSize({ width: 1280, height: 860 });
  await alice.read("a list.txt");
  const [file] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save the file" }).click(),
  ]);
  assert.match(file.suggestedFilename(), /^\d+-a list\.txt$/);
  assert.deepEqual(await readFile(await file.path()), FILE.buffer);
  await alice.send(bobs, "Well, and you?");
  await bob.send(address, "Well too");
  const before = await visits(page);
  await page.clock.fastForward(HOUR / 60);
  await page.clock.fastForward(HOUR);
  await page.getByText("1 new letter.").last().waitFor();
  assert.ok((await visits(page)) > before, "a visit of its own");
  assert.equal((await alice.letters())[0], "Well too");
  await sides(page);
  await page.close();
  await bob.page.reload();
  await bob.unlock();
  await bob.ready();
  await bob.read("Well, and you?");
  await bob.page.close();
  passed("two people write to each other");
}

async function visits(page) {
  return await page.getByRole("cell", { name: /new letter/ }).count();
}

// Squares on both sides are as many as posts; hers are told apart on her side alone.
async function sides(page) {
  const count = (selector) => page.locator(selector).count();
  const posts = await count(".theirs .post.sealed");
  assert.ok(posts >= 6, `${posts} posts`);
  assert.equal(await count(".yours .post:not(.free)"), posts);
  assert.equal(await count(".theirs .mine"), 0);
  // All but one are hers: a file has a square for each of its posts.
  assert.ok(posts > 5, `${posts} posts of four letters`);
  assert.equal(await count(".yours .post.mine"), posts - 1);
  assert.equal(await count(".yours .post.sent"), 1);
  assert.equal(await page.locator(".theirs").getByText(/^A scan of/).count(), 1);
  assert.ok((await page.getByRole("cell", { name: /A request to scan posts/ }).count()) > 1);
}

// Letters outlive the tab; a wrong passphrase opens nothing.
async function again(alice) {
  const page = await alice.visit();
  await page.getByLabel("Passphrase").fill("something else");
  await page.getByRole("button", { name: "Unlock" }).click();
  await page
    .getByRole("alert")
    .getByText(/passphrase is wrong/)
    .waitFor();
  await alice.unlock();
  assert.equal((await alice.letters()).length, 4);
  await alice.read("Dear Alice,");
  await page.getByText("how are you?").waitFor();
  await alice.go("Queries", "Private queries");
  await page.getByRole("alert").getByText("This server has no tables.").waitFor();
  await alice.accessible("a server without tables");
  await page.getByRole("button", { name: "Lock" }).click();
  await page.getByRole("link", { name: "Letters" }).click();
  await page.getByRole("heading", { name: "Your identity is locked" }).waitFor();
  await alice.unlock();
  passed("letters outlive the tab");
}

// Signed letters and their answers make up a conversation; a sender is muted, a letter deleted, and nobody is shown as
// the sender where the signature does not match.
async function senders() {
  const [ann, ben] = [await Person.of(browser, server.url), await Person.of(browser, server.url)];
  const [anns, bens] = [await ann.make(), await ben.make()];
  await ann.send(bens, "At eight?", [], { subject: "Dinner", signed: true });
  await ben.again();
  await ben.go(/^Letters/);
  await ben.page.getByText(`From ${anns.split("@")[0]}, `).waitFor();
  await ben.read("Dinner");
  await ben.page.getByText(`The owner of ${anns} signed it for you. It says that it was written on`).waitFor();
  await ben.accessible("a signed letter");
  for (const text of ["Yes", "Or at nine?"]) {
    await ben.read("Dinner");
    await ben.page.getByRole("button", { name: "Answer" }).click();
    await ben.page.getByText("it joins the conversation").waitFor();
    assert.equal(await ben.page.getByLabel("To", { exact: true }).inputValue(), anns);
    await ben.page.getByLabel("Text").fill(text);
    await ben.page.getByRole("button", { name: "Send" }).click();
    await ben.page.getByText("1 letter sent to").waitFor();
  }
  await ben.accessible("an answer");
  await ann.again();
  assert.deepEqual(await ann.letters(), ["Dinner", "Dinner"]);
  const { page } = ann;
  await page.getByText("Conversation: Dinner").waitFor();
  await ann.accessible("a conversation");
  await ann.read("Dinner");
  await page.getByText("Or at nine?").waitFor();
  await page.getByRole("button", { name: "Mute this sender" }).click();
  await page.getByRole("button", { name: "Unmute" }).waitFor();
  await ben.send(anns, "Buy", [], { subject: "Spam", signed: true });
  await ann.again();
  await page.getByRole("cell", { name: "No new letter." }).waitFor();
  assert.deepEqual(await ann.letters(), ["Spam", "Dinner", "Dinner"]);
  assert.equal(await page.locator(".letter.unread", { hasText: "Spam" }).count(), 0);
  await page.getByText("1 muted sender").click();
  await ann.accessible("muted senders");
  await page.getByRole("button", { name: "Unmute" }).click();
  await page.getByText("1 muted sender").waitFor({ state: "detached" });
  await ann.read("Spam");
  page.once("dialog", (dialog) => void dialog.accept());
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { level: 1, name: "Letters" }).waitFor();
  assert.deepEqual(await ann.letters(), ["Dinner", "Dinner"]);
  // As the inbox lists letters whose signatures do not match.
  await page.addInitScript(forge);
  await ann.again();
  assert.deepEqual(await ann.letters(), ["Dinner", "Dinner"]);
  await page.getByText("From (forged), ").first().waitFor();
  await ann.read("Dinner");
  await page.getByText("(forged) The signature does not match the sender that it names").waitFor();
  await ann.accessible("a forged letter");
  assert.equal(await page.getByRole("button", { name: "Answer" }).count(), 0);
  assert.equal(await page.getByText(bens.split("@")[0]).count(), 0);
  await Promise.all([page.close(), ben.page.close()]);
  passed("senders, conversations, muted senders, deleted and forged letters");
  return [ann, ben];
}

// In the page: all that the worker says of letters states that no sender signed them.
function forge() {
  const { get } = Object.getOwnPropertyDescriptor(MessageEvent.prototype, "data");
  const spoil = (value) => {
    if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return;
    if ("forged" in value) Object.assign(value, { forged: true, sender: undefined });
    Object.values(value).forEach(spoil);
  };
  Object.defineProperty(MessageEvent.prototype, "data", {
    get() {
      const data = get.call(this);
      spoil(data);
      return data;
    },
  });
}

// Where the system has a way to share texts, the address goes there.
async function shared(alice) {
  const { page } = alice;
  await page.evaluate(() => {
    navigator.share = async ({ text }) => void (globalThis.shared = text);
  });
  const address = await alice.address();
  await page.getByRole("button", { name: "Share" }).click();
  assert.equal(await page.evaluate(() => globalThis.shared), address);
}

// Her identity in another profile reads the same letters.
async function elsewhere(alice) {
  await shared(alice);
  await alice.go("Address", "Your address");
  const button = alice.page.getByRole("button", { name: "Save the identity file" });
  const [download] = await Promise.all([alice.page.waitForEvent("download"), button.click()]);
  const buffer = await readFile(await download.path());
  assert.ok(!buffer.includes(PASSPHRASE), "no passphrase in the file");
  await alice.page.close();
  const carol = await Person.of(browser, server.url);
  const page = await carol.visit();
  await page.getByRole("button", { name: /identity file/ }).click();
  const use = async (file, passphrase) => {
    await page
      .getByLabel("Identity file")
      .setInputFiles({ name: "identity.json", mimeType: "application/json", buffer: file });
    await page.getByLabel("Passphrase").fill(passphrase);
    await page.getByRole("button", { name: "Use this identity" }).click();
  };
  const changed = (change) => Buffer.from(JSON.stringify({ ...JSON.parse(buffer), ...change }));
  for (const [file, passphrase, told] of [
    [buffer, "not hers at all", /passphrase is wrong/],
    [changed({ sealing: 0 }), PASSPHRASE, /changed since it was locked/],
    [changed({ bound: "50" }), PASSPHRASE, /expected a whole number as bound/],
    [changed({ format: "omr recipient 9" }), PASSPHRASE, /omr recipient 1, found omr recipient 9/],
  ]) {
    await use(file, passphrase);
    await page.getByRole("alert").getByText(told).waitFor();
  }
  await use(buffer, PASSPHRASE);
  await carol.ready();
  assert.deepEqual(await carol.letters(), ["Well too", "a list.txt", "Dear Alice,", "A note to myself"]);
  passed("an identity file reads the same letters elsewhere");
  return carol;
}

// Posts that an answer has no room for are told, and come with further visits, whose queries are all alike.
async function later(carol, address) {
  const { page } = carol;
  await carol.send(address, "", [MUCH]);
  await page.reload();
  await carol.unlock();
  await carol.ready();
  await carol.go(/^Letters/);
  await page.getByText(/^\d+ more posts for you were found and come with the next \d+ visits\./).waitFor();
  await carol.accessible("posts that come later");
  for (let visit = 1; (await carol.letters())[0] !== MUCH.name; visit++) {
    assert.ok(visit < 9, "posts come with further visits");
    await page.reload();
    await carol.unlock();
    await carol.ready();
    const query = page.getByRole("cell", { name: /A sealed query of [\d\s]+ bytes about posts .*An answer of/ });
    assert.equal(await query.count(), 1);
  }
  assert.equal(await page.getByText(/more posts? for you/).count(), 0);
  await page.close();
  passed("posts that an answer has no room for come later");
}

// An identity of digests, as older versions made it. More posts at once than a digest holds are told, and not lost.
async function overflow() {
  const olga = await Person.of(browser, server.url);
  const page = await olga.visit();
  const end = await bend(page, bent, "CapabilityService/GetCapabilities", ({ limits }) => (limits.fetchMessages = 0n));
  await page.getByLabel("Passphrase").fill(PASSPHRASE);
  await page.getByRole("button", { name: "Make my address" }).click();
  await page.getByRole("navigation").waitFor();
  await end();
  await olga.ready();
  await olga.send(await olga.address(), "", [MUCH]);
  await page.reload();
  await olga.unlock();
  await olga.ready();
  assert.equal(await page.locator(".theirs").getByText(/^A digest of/).count(), 1);
  await olga.go(/^Letters/);
  await page.getByText(/More posts for you than one digest holds/).click();
  await page.getByText(/They come with the next \d+ visits/).waitFor();
  await olga.accessible("an overflow");
  await page.close();
  passed("more posts than a digest holds are told");
  return olga;
}

// As files of another web server the page asks for the server; it says why it cannot write to a third one.
async function files(address) {
  const dora = await Person.of(browser, server.url, `${site.origin}/mail-tests/index.html`);
  const page = await dora.visit();
  await page.getByLabel("Passphrase").fill(PASSPHRASE);
  await page.getByText("Another server").click();
  await page.getByLabel("Server", { exact: true }).fill(server.url);
  await page.getByRole("button", { name: "Make my address" }).click();
  await dora.ready();
  await dora.send(address, "From another place");
  await dora.send(await dora.address(), "A note to myself");
  // The server forgets her: her keys are made once more, and what was written meanwhile comes.
  await page.evaluate(async (url) => {
    await import("/tested/page.js");
    await globalThis.forgotten(url);
  }, server.url);
  // Keys are not sent before the page was seen to say why.
  let seen = () => {};
  const said = new Promise((resolve) => (seen = resolve));
  const keys = "**/omr.v1.KeyService/UploadChunk";
  await page.route(keys, async (route) => {
    await said;
    await route.continue();
  });
  await page.reload();
  await dora.unlock();
  await page.getByText("The server has lost the keys that it had.").waitFor();
  seen();
  await page.getByRole("cell", { name: "The server has lost your keys. They are made and sent again." }).waitFor();
  await dora.ready();
  assert.deepEqual(await dora.letters(), ["A note to myself"]);
  await page.close();
  passed("as files of another web server, which loses her keys");
  return dora;
}

// Without a server she reads what she has.
async function offline(alice) {
  await server.stop();
  stopped = true;
  const page = await alice.visit();
  await alice.unlock();
  await alice.read("Dear Alice,");
  await page.getByText("how are you?").waitFor();
  passed("letters are read without a server");
}

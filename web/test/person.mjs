// Somebody at the page: a browser profile of her own, whose requests and complaints are watched.
import assert from "node:assert/strict";
import { join } from "node:path";
import { axeSource } from "../../tests/browser/tools.mjs";

/** Where pictures of every screen lie after the test. */
const SCREENS = join(process.env.OMR_WEB, "screens");
export const PASSPHRASE = "seven quiet herons at dusk";
/** What a page may be busy with on a machine that does other work. */
const PATIENCE = 120_000;

export class Person {
  #complaints = [];

  constructor(context, url, page = `${url}/mail/`) {
    this.context = context;
    this.where = page;
    const own = (to) => [url, new URL(page).origin].some((base) => to.startsWith(base)) || /^(data|blob):/.test(to);
    context.on("request", (request) => own(request.url()) || this.#complaints.push(`a request to ${request.url()}`));
    context.on("weberror", (error) => this.#complaints.push(String(error.error())));
    context.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) this.#complaints.push(message.text());
    });
  }

  /** `page`: where the page is, if not at the server. */
  static async of(browser, url, page) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, acceptDownloads: true });
    context.setDefaultTimeout(PATIENCE);
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    return new Person(context, url, page);
  }

  /** Opens the page in a tab; a clock of its own lets time pass. */
  async visit({ clock = false } = {}) {
    this.page = await this.context.newPage();
    if (clock) await this.page.clock.install();
    await this.page.goto(this.where);
    return this.page;
  }

  async make() {
    const page = await this.visit();
    await page.getByLabel("Passphrase").fill(PASSPHRASE);
    await page.getByRole("button", { name: "Make my address" }).click();
    await this.ready();
    return await this.address();
  }

  async unlock() {
    await this.page.getByLabel("Passphrase").fill(PASSPHRASE);
    await this.page.getByRole("button", { name: "Unlock" }).click();
    await this.page.getByRole("navigation").waitFor();
  }

  /** Waits until the server can look for her letters and the first visit is over. */
  async ready() {
    await this.page.getByText(/Next visit at/).waitFor();
    await this.page
      .getByRole("cell", { name: /No new letter|new letters?\./ })
      .first()
      .waitFor();
  }

  /** `heading`: what the place calls itself, where that is longer. */
  async go(place, heading = place) {
    await this.page.getByRole("navigation").getByRole("link", { name: place }).click();
    await this.page.getByRole("heading", { level: 1, name: heading }).waitFor();
  }

  /** Her address, as the button copies it. */
  async address() {
    await this.go("Address", "Your address");
    await this.page.getByRole("button", { name: "Copy" }).click();
    await this.page.getByText("Copied").waitFor();
    return await this.page.evaluate(() => navigator.clipboard.readText());
  }

  async send(to, text, files = [], { subject = "", signed = false } = {}) {
    await this.go("Write");
    await this.page.getByLabel("Subject").fill(subject);
    await this.page.getByLabel("Sign", { exact: true }).setChecked(signed);
    await this.page.getByLabel("To", { exact: true }).fill(to);
    await this.page.getByLabel("Text").fill(text);
    await this.page.getByLabel("Files").setInputFiles(files);
    await this.page.getByRole("button", { name: "Send" }).click();
    await this.page.getByText(/letters? sent to/).waitFor();
  }

  /** Opens the page anew, which is a visit. */
  async again() {
    await this.page.reload();
    await this.unlock();
    await this.ready();
  }

  /** Titles of her letters, newest first. */
  async letters() {
    await this.go(/^Letters/);
    return await this.page.locator(".letters .title").allTextContents();
  }

  async read(title) {
    await this.go(/^Letters/);
    await this.page.getByRole("link", { name: title }).first().click();
    await this.page.getByRole("heading", { level: 1, name: title }).waitFor();
  }

  /** No violation in light and dark, on a desk and phones, with pictures below `target/`; nothing is wider than the window. */
  async accessible(what) {
    const { page } = this;
    const before = page.viewportSize();
    await page.evaluate(axeSource);
    for (const [width, height] of [[1280, 860], [390, 844], [320, 568]]) {
      await page.setViewportSize({ width, height });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        const path = join(SCREENS, `${what.replaceAll(" ", "-")}-${width}-${colorScheme}.png`);
        await page.screenshot({ path });
        // Between the two others nothing is laid out in another way.
        if (width === 390) continue;
        const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
        assert.ok(passes.length > 10, "axe looked at the page");
        const told = violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
        assert.deepEqual(told, [], `${what}, ${width}, ${colorScheme}`);
      }
      const sideways = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return scrollWidth - clientWidth;
      });
      assert.ok(sideways <= 0, `${what}: ${sideways} too wide for ${width}`);
    }
    await page.setViewportSize(before);
    await page.emulateMedia({ colorScheme: "light" });
  }

  /** Moves the focus with the keyboard alone until it is on something of this name. */
  async tab(name) {
    for (let i = 0; i < 40; i++) {
      await this.page.keyboard.press("Tab");
      const focused = await this.page.evaluate(() => {
        const { labels, textContent } = document.activeElement;
        return labels?.[0]?.textContent || textContent || "";
      });
      if (focused.trim().startsWith(name)) return;
    }
    assert.fail(`no way to ${name} by keyboard`);
  }

  check() {
    assert.deepEqual(this.#complaints, []);
  }
}

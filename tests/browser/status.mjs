// The status page: its figures, its accessibility, its width, its silence.
import assert from "node:assert/strict";
import { axeSource, passed } from "./tools.mjs";

const WIDTHS = [320, 390, 1280];
const SCHEMES = ["light", "dark"];

export async function checkStatusPage(browser, url) {
  for (const width of WIDTHS) {
    for (const colorScheme of SCHEMES) {
      // axe is put into the page, which the page's own policy forbids.
      const context = await browser.newContext({
        viewport: { width, height: 800 },
        colorScheme,
        bypassCSP: true,
      });
      const page = await context.newPage();
      await page.goto(`${url}/`);
      await page.addScriptTag({ content: axeSource });
      const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
      assert.ok(passes.length > 10, "axe looked at the page");
      assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map((node) => node.html)]), []);
      const { scrollWidth, clientWidth } = await page.evaluate(() => {
        const { scrollWidth, clientWidth } = document.documentElement;
        return { scrollWidth, clientWidth };
      });
      assert.ok(scrollWidth <= clientWidth, `${scrollWidth} wide on ${clientWidth}`);
      await context.close();
    }
  }
  passed(`no violations and no sideways scrolling at ${WIDTHS.join(" and ")} px, light and dark`);
  await checkFigures(browser, url);
}

// Reads the page as the policy lets it be.
async function checkFigures(browser, url) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("requestfailed", (request) => complaints.push(request.url()));
  await page.goto(`${url}/`);
  const style = await page.evaluate(() => getComputedStyle(document.querySelector("dl")).display);
  assert.equal(style, "grid", "the policy lets the page's own style in");
  const status = await (await context.request.get(`${url}/status.json`)).json();
  const overview = await pairs(page);
  assert.equal(overview.get("Messages"), grouped(status.messages));
  const used = status.in_use;
  assert.equal(overview.get("Jobs waiting"), grouped(used.jobs.waiting));
  assert.equal(overview.get("Jobs done since the start"), grouped(used.jobs.done));
  assert.equal(overview.get("Sessions open"), grouped(used.sessions.open));
  assert.match(overview.get("Posts, last hour"), new RegExp(`: ${status.posting.hour.posts} posts of `));
  // Two points are five seconds apart: the first look is at the start.
  await page.waitForTimeout(Math.max(0, 7 - status.uptime_seconds) * 1000);
  await page.reload();
  assert.equal(await page.locator("figure svg[role=img]").count(), 2);
  for (const id of ["length", "speed"]) {
    const labels = await page.locator(`svg[aria-labelledby=${id}-name] text`).allTextContents();
    assert.ok(labels.length >= 5 && labels.includes("time, UTC"), String(labels));
  }
  assert.equal(status.lists_digests, false);
  assert.deepEqual([status.running_jobs, status.digests], [[], []]);
  assert.equal(overview.get("Parameter set"), status.params_id);
  assert.equal(overview.get("Board"), status.board_id);
  assert.equal(overview.get("Version"), status.version);
  assert.match(status.board_id, /^[0-9a-f]{32}$/);
  const health = await page.locator("section").first().locator("p").textContent();
  assert.equal(health, status.health.healthy ? "Healthy" : "Not healthy");
  assert.equal(await page.locator("h2#health + table tbody tr").count(), status.health.checks.length);
  assert.equal(await page.locator("h3#disk + table tbody tr").count(), used.disk.length);
  const button = page.getByRole("button", { name: /Load anew/ });
  await button.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(/refresh=on/);
  assert.equal(await page.locator('meta[http-equiv="refresh"]').count(), 1);
  await page.getByRole("button", { name: "Stop" }).click();
  await page.waitForURL((at) => !at.search.includes("refresh"));
  assert.equal(await page.locator('meta[http-equiv="refresh"]').count(), 0);
  assert.deepEqual(complaints, []);
  await context.close();
  passed("the page's figures are those of /status.json, and the console is empty");
}

// Names and values of the overview.
async function pairs(page) {
  const names = await page.locator("dt").allTextContents();
  const values = await page.locator("dd").allTextContents();
  assert.equal(names.length, values.length);
  return new Map(names.map((name, i) => [name, values[i]]));
}

function grouped(count) {
  return String(count).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

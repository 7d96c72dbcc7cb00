// Somebody with storage of her own in a browser, whose pages may go away.

const PASSPHRASE = "correct horse";

/** `known`: origins that her pages may call; `complaints` gets what should not happen. */
export async function person(browser, site, known, complaints) {
  const context = await browser.newContext();
  const own = (url) => [site.origin, ...known].some((base) => url.startsWith(base)) || /^(data|blob):/.test(url);
  context.on("request", (request) => own(request.url()) || complaints.push(`a request to ${request.url()}`));
  return {
    context,
    async page() {
      const page = await context.newPage();
      page.on("pageerror", (error) => complaints.push(String(error)));
      await page.goto(site.origin);
      await page.evaluate(async (passphrase) => {
        globalThis.omr = await import("/dist/index.js");
        globalThis.open = async (options) => {
          // Lengths of what the server gave.
          globalThis.given = [];
          const seen = ({ what, of, bytes }) => {
            if (what !== "digest") return;
            globalThis.came = performance.now();
            globalThis.given.push({ of, bytes });
          };
          globalThis.me = await globalThis.omr.Recipient.open({ passphrase, ...options }, seen);
          return globalThis.me.address;
        };
      }, PASSPHRASE);
      return page;
    },
  };
}

/** Opens the recipient of a page; gives her address. */
export const open = (page, options) => page.evaluate((options) => globalThis.open(options), options);

/** Makes and sends her keys; gives what was told. */
export async function register(page) {
  return await page.evaluate(async () => {
    const told = [];
    await globalThis.me.register((progress) => told.push(progress));
    return told;
  });
}

export const send = (page, address, content, name, about) =>
  page.evaluate(([address, content, name, about]) => globalThis.me.send(address, content, name, about), [address, content, name, about]);

/** Fetches; gives all letters, and the milliseconds from the last digest until they were listed. */
export async function read(page) {
  return await page.evaluate(async () => {
    const fetched = await globalThis.me.fetch();
    const listed = await globalThis.me.letters();
    const shown = performance.now() - globalThis.came;
    const letters = [];
    for (const { number } of listed) {
      const letter = await globalThis.me.read(number);
      letters.push({ ...letter, bytes: [...letter.bytes] });
    }
    return { ...fetched, shown, letters };
  });
}

/** Answers of a call are other ones until what this gives is called. */
export async function bend(page, bent, call, change) {
  // A route that is removed while it answers would fail.
  let ended = false;
  await page.route(`**/omr.v1.${call}`, async (route) => {
    if (ended) return await route.fallback();
    const response = await route.fetch();
    const path = new URL(route.request().url()).pathname;
    const body = Buffer.from(bent(path, await response.body(), change));
    await route.fulfill({ response, body });
  });
  return () => (ended = true);
}

/** Opens a new recipient whose server has no two rounds yet. */
export async function older(page, bent, server) {
  const end = await bend(page, bent, "CapabilityService/GetCapabilities", ({ limits }) => (limits.fetchMessages = 0n));
  const address = await open(page, { server });
  await end();
  return address;
}

export const text = ({ bytes }) => Buffer.from(bytes).toString();

// What pages held at most, by the system's count: memory of their own, without what all of Chromium shares.
import { readFile } from "node:fs/promises";

/** Milliseconds between looks. */
const PAUSE = 100;

/** Looks at all processes of pages again and again; what the largest had at most, in bytes. */
export async function watched(browser, run) {
  const session = await browser.newBrowserCDPSession();
  let most = 0;
  const look = async () => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    for (const { type, id } of processInfo) {
      if (type !== "renderer") continue;
      // It may have ended.
      const status = await readFile(`/proc/${id}/status`, "utf8").catch(() => "");
      const kib = (name) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0);
      most = Math.max(most, 1024 * (kib("RssAnon") + kib("RssShmem")));
    }
  };
  const timer = setInterval(() => look().catch(() => {}), PAUSE);
  try {
    await run();
  } finally {
    clearInterval(timer);
  }
  await look();
  return most;
}

// What processes of the browser held at most, by the system's count.
import { readFile } from "node:fs/promises";

/** Bytes by kind of process, of the largest of each kind. */
export async function peaks(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const most = new Map();
  for (const { type, id } of processInfo) {
    const status = await readFile(`/proc/${id}/status`, "utf8").catch(() => "");
    const peak = Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) * 1024;
    if (["browser", "renderer"].includes(type)) most.set(type, Math.max(peak, most.get(type) ?? 0));
  }
  return most;
}

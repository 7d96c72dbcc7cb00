// The package and a page on an origin of their own, under the policy that a page may have.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";

const FOLDERS = ["bundled", "dist", "tested", "mail-tests"];
const KINDS = {
  css: "text/css",
  html: "text/html",
  js: "text/javascript",
  svg: "image/svg+xml",
  wasm: "application/wasm",
  webmanifest: "application/manifest+json",
};
const PAGE = "<!doctype html><title>omr</title><link rel=icon href='data:,'>";

export async function startSite(web) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, "http://here");
    response.setHeader("content-security-policy", policy);
    if (pathname === "/") return response.setHeader("content-type", "text/html").end(PAGE);
    const [folder, name] = pathname.slice(1).split("/");
    const kind = KINDS[name?.split(".").at(-1)];
    if (!FOLDERS.includes(folder) || kind === undefined) return response.writeHead(404).end();
    response.setHeader("content-type", kind).end(await readFile(join(web, folder, name)));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  let policy = "";
  return {
    origin,
    // Pages from now on may call these servers alone.
    allow(servers) {
      const scripts = ["script-src 'self' 'wasm-unsafe-eval'", "worker-src 'self'"];
      const rest = ["style-src 'self'", "img-src 'self' data:", "manifest-src 'self'"];
      const rules = ["default-src 'none'", ...scripts, ...rest];
      policy = [...rules, `connect-src 'self' ${servers.join(" ")}`].join("; ");
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  };
}

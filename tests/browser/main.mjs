// Starts a server on an empty folder and looks at it with a browser, as `cargo xtask browser` calls it.
import { chromium } from "./tools.mjs";
import { startServer } from "./server.mjs";
import { checkStatusPage } from "./status.mjs";
import { checkGrpcWeb } from "./grpc_web.mjs";

// Headless, alone and without traffic of its own.
const ARGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const server = await startServer();
let browser;
try {
  browser = await chromium.launch({ executablePath: process.env.OMR_CHROMIUM, args: ARGS });
  await checkStatusPage(browser, server.url);
  await checkGrpcWeb(browser);
} catch (error) {
  console.error(server.log());
  throw error;
} finally {
  await browser?.close();
  await server.stop();
}

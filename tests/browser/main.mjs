// Starts a server on an empty folder and looks at it with a browser, as `cargo xtask browser` calls it.
import { launch } from "./tools.mjs";
import { startServer } from "./server.mjs";
import { checkStatusPage } from "./status.mjs";

const server = await startServer();
let browser;
try {
  browser = await launch();
  await checkStatusPage(browser, server.url);
} catch (error) {
  console.error(server.log());
  throw error;
} finally {
  await browser?.close();
  await server.stop();
}

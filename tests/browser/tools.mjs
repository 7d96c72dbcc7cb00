// Packages from the folder that `cargo xtask` installs them in.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.OMR_NPM, "package.json"));

const { chromium } = require("playwright-core");
export const axeSource = require("axe-core").source;

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

export async function launch() {
  return await chromium.launch({ executablePath: process.env.OMR_CHROMIUM, args: ARGS });
}

// Says what passed.
export function passed(what) {
  console.log(`browser: ${what}: ok`);
}

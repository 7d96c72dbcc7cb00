// Packages from the folder that `cargo xtask` installs them in.
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.OMR_NPM, "package.json"));

export const { chromium } = require("playwright-core");
export const axeSource = require("axe-core").source;

// Says what passed.
export function passed(what) {
  console.log(`browser: ${what}: ok`);
}

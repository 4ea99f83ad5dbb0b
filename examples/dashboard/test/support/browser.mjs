import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { args } from "../../../../js/test/chromium.mjs";

const require = createRequire(fileURLToPath(new URL("../../../../js/package.json", import.meta.url)));
const { chromium } = require("playwright-core");

/** Launches a headless Chromium, from the path in $CHROMIUM or else /usr/bin/chromium. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    args,
  });
}

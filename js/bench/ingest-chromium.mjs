// node ingest-chromium.js MODULE DATA OURS: measures steady ingest in pages of the headless
// Chromium at $CHROMIUM. Each side has its own page and process.
import { createReadStream, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { ingest } from "./ingest.mjs";
import { report } from "./rounds.mjs";

const { chromium } = createRequire(new URL("../../package.json", import.meta.url))("playwright-core");
const [module, data, ours] = process.argv.slice(2);
const page = join(import.meta.dirname, "ingest-page.js");
const files = { "/page.js": page, "/watchglass.wasm": module };
const types = { ".js": "text/javascript", ".wasm": "application/wasm" };

const server = createServer(({ url }, response) => {
  if (url === "/") {
    response.setHeader("content-type", "text/html");
    response.end('<!doctype html><link rel="icon" href="data:,"><script type="module" src="page.js"></script>');
    return;
  }
  const path = files[url] ?? join(data, basename(url));
  response.setHeader("content-type", types[path.slice(path.lastIndexOf("."))] ?? "application/octet-stream");
  response.setHeader("content-length", statSync(path).size);
  createReadStream(path).pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
// Chromium slows down background pages. Playwright disables this slowdown for both sides.
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--js-flags=--expose-gc --max-old-space-size=4096",
  ],
});
try {
  const pages = {};
  for (const name of [ours, "peer"]) {
    pages[name] = await (await browser.newContext()).newPage();
    await pages[name].goto(`http://127.0.0.1:${server.address().port}/`);
    await pages[name].evaluate((name) => globalThis.open(name), name);
  }
  const { updates } = JSON.parse(readFileSync(join(data, "manifest.json")));
  const ask = (name, method, ...args) => pages[name].evaluate(([method, args]) => globalThis.side[method](...args), [method, args]);
  report(await ingest("chromium", updates, ours, ask));
} finally {
  await browser.close();
  server.close();
}

// Starts the headless Chromium at $CHROMIUM, and a server for the package and for recorded pods.
// The benchmarks run as: node BENCHMARK.js MODULE DATA DIST [RECORDING [CONNECTOR]].
import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { join } from "node:path";
import { concat, Reader, split, Writer } from "../src/wire/codec.ts";
import { chunks } from "./chunks.mjs";

const require = createRequire(new URL("../../package.json", import.meta.url));
const { chromium } = require("playwright-core");
const { WebSocketServer } = require("ws");
export const rounds = 5;
const [, data, dist, recording = "snapshot.bin"] = process.argv.slice(2);
export const { objects } = JSON.parse(readFileSync(join(data, "manifest.json")));
const welcome = 0x10;
const snapshotBegin = 0x14;
const snapshotEnd = 0x16;
const checksum = 0xa0;

// The messages are assembled differently below, so their recorded checksums do not apply.
const recorded = chunks(readFileSync(join(data, recording))).map((message) => [...split(message)].filter(({ type }) => type !== checksum));
const frames = recorded.flat();
const end = new Reader(frames.find(({ type }) => type === snapshotEnd).payload, "SnapshotEnd");
end.uint32();
const version = end.resourceVersion();

/**
 * Returns the message that confirms that a subscription has received everything up to a version.
 */
export function progress(subscription, version) {
  const w = new Writer();
  w.frame(0x18, () => {
    w.uvarint(subscription);
    w.uvarint(BigInt(version));
  });
  return w.take();
}

/** Returns the messages for a reader that resumes: the frames before the snapshot, and progress. */
function resumed(subscription) {
  const head = frames.slice(0, frames.findIndex(({ type }) => type === snapshotBegin)).filter(({ type }) => type !== welcome);
  return [concat([...head.map(({ bytes }) => bytes), progress(subscription, version)])];
}

const whole = recorded.map((message) => concat(message.filter(({ type }) => type !== welcome).map(({ bytes }) => bytes))).filter(({ length }) => length > 0);
const types = { ".js": "text/javascript", ".wasm": "application/wasm" };
/** The directories of the package, of the bundled benchmarks and of the data. */
const served = [dist, import.meta.dirname, data];
const server = createServer(({ url }, response) => {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  const file = served.map((directory) => join(directory, pathname)).find(existsSync);
  if (pathname === "/" || !file) {
    response.setHeader("content-type", pathname === "/" ? "text/html" : "text/javascript");
    const script = searchParams.get("script") ?? "page.js";
    return void response.end(pathname === "/" ? `<!doctype html><link rel="icon" href="data:,"><script type="module" src="/${script}"></script>` : 'import * as w from "./index.js"; window.watchglass = w');
  }
  response.setHeader("content-type", types[file.slice(file.lastIndexOf("."))] ?? "application/octet-stream");
  response.setHeader("content-length", statSync(file).size);
  response.setHeader("cache-control", "max-age=3600"); // as js/README.md recommends
  createReadStream(file).pipe(response);
});
/** The newest connection to each path. */
const sockets = new Map();
new WebSocketServer({ server, handleProtocols: (offered) => [...offered][0] }).on("connection", (socket, { url }) => {
  sockets.set(url, socket);
  socket.on("message", (message) => {
    for (const { type, payload } of split(new Uint8Array(message))) {
      if (type === 0x01) socket.send(frames.find((f) => f.type === welcome).bytes);
      if (type !== 0x02) continue;
      const r = new Reader(payload, "Subscribe");
      const subscription = r.uint32();
      for (let i = 0; i < 4; i++) r.text();
      for (const part of r.uvarint() === 0 ? whole : resumed(subscription)) socket.send(part);
    }
  });
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
export const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM,
  args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--js-flags=--max-old-space-size=4096"],
});

const address = `http://127.0.0.1:${server.address().port}/`;

/** Opens a page with the package in the global variable `watchglass`. */
export async function open(context) {
  const page = await context.newPage();
  await page.goto(address);
  await page.waitForFunction(() => globalThis.watchglass !== undefined);
  return page;
}

/** Opens a page that runs a bundled script of the benchmarks. */
export async function openScript(context, script) {
  const page = await context.newPage();
  page.on("pageerror", (error) => console.error(`${script}: ${error}`));
  await page.goto(`${address}?script=${script}`);
  return page;
}

/** Sends a message on the newest connection to a path. */
export function send(path, message) {
  sockets.get(path).send(message);
}

/**
 * Connects a page to a connector, and opens the pods. The default connector sends recorded
 * messages. Returns the milliseconds until the first rows, and until the exact table of all pods.
 */
export function exact(page, options, scope = {}, connector = "/watch") {
  return page.evaluate(async ({ objects, options, scope, connector }) => {
    const start = performance.now();
    globalThis.wg = await watchglass.connect(connector, options);
    const pods = wg.collection("v1/pods", scope);
    const view = pods.view({ sort: "-Age", limit: 50 });
    await view.ready;
    const first = performance.now() - start;
    await new Promise((resolve) => {
      const look = () => pods.status.state === "live" && view.snapshot.total === objects && resolve();
      view.subscribe(look);
      pods.subscribe(look);
      look();
    });
    return { first, exact: performance.now() - start };
  }, { objects, options, scope, connector });
}

/** Closes the browser and the server. */
export async function close() {
  await browser.close();
  server.closeAllConnections();
  server.close();
}

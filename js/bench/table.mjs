// node table.js MODULE DATA DIST: measures the processor time of a page's main thread per 1,000
// changes of 50,000 pods. A React table shows the 50 pods with the most restarts, in the headless
// Chromium at $CHROMIUM. Each side has a page in its own process, and receives the same changes at
// the same pace.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { chunks } from "./chunks.mjs";
import { browser, close, objects, openScript, progress, send } from "./recorded.mjs";
import { median, report } from "./rounds.mjs";

const [, data] = process.argv.slice(2);
const { updates, updatesPerBatch } = JSON.parse(readFileSync(join(data, "manifest.json")));
const changes = 1000;
const batches = changes / updatesPerBatch;
const paceMillis = 100; // the pause after each batch
const warmUps = 2;
const rounds = updates / changes;

const connector = "/watch";
const subscription = 1;
/**
 * The milliseconds between two reports of progress. Without these reports, the reader would
 * subscribe again.
 */
const progressMillis = 2000;
/** The version of the last change that was sent to our side. */
let sent = objects;
let reporting;

const lines = chunks(readFileSync(join(data, "watch.bin")));
const sides = [
  { name: "ours", script: "table-ours.js", path: connector, messages: chunks(readFileSync(join(data, "updates.bin"))) },
  { name: "client-node", case: "informer", script: "table-informer.js", path: "/informer", messages: lines },
  { name: "TanStack DB", case: "tanstack", script: "table-tanstack.js", path: "/tanstack", messages: lines },
];

/** Returns the processor time of the page's main thread so far, in milliseconds. */
async function mainThread(devtools) {
  const { metrics } = await devtools.send("Performance.getMetrics");
  return 1000 * metrics.find(({ name }) => name === "TaskDuration").value;
}

/** Opens the page of a side, and waits until its table is complete. */
async function start(side) {
  const context = await browser.newContext();
  const page = await openScript(context, side.script);
  const devtools = await context.newCDPSession(page);
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  await page.waitForFunction(() => globalThis.shown?.() > 0, undefined, { timeout: 300_000, polling: 500 });
  return { ...side, page, devtools, millis: [] };
}

/**
 * Sends the changes of a round to one side. Returns the milliseconds that the main thread of this
 * side has used for the changes.
 */
async function take({ page, devtools, path, messages }, round) {
  const before = await mainThread(devtools);
  for (let batch = round * batches; batch < (round + 1) * batches; batch++) {
    send(path, messages[batch]);
    if (path === connector) sent = objects + (batch + 1) * updatesPerBatch;
    await sleep(paceMillis);
  }
  await page.waitForFunction((version) => globalThis.shown() >= version, objects + (round + 1) * changes, { polling: paceMillis });
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)))); // waits until the last frame is drawn
  return (await mainThread(devtools)) - before;
}

/** Returns the cells of the table as text, to compare the sides. */
const table = ({ page }) => page.evaluate(() => [...document.querySelectorAll("tr")].map((row) => [...row.cells].map((cell) => cell.textContent).join(" ")).join("\n"));

try {
  const running = [];
  for (const side of sides) {
    running.push(await start(side));
    reporting ??= setInterval(() => send(connector, progress(subscription, sent)), progressMillis);
  }
  const [ours, ...peers] = running;
  let expected = await table(ours);
  let changed = 0;
  for (let round = 0; round < rounds; round++) {
    for (const side of running) {
      const millis = await take(side, round);
      if (round >= warmUps) side.millis.push(millis);
    }
    const before = expected;
    expected = await table(ours);
    if (expected !== before) changed++;
  }
  if (changed < rounds) throw new Error(`the table changed in ${changed} of ${rounds} rounds`);
  for (const peer of peers) {
    if ((await table(peer)) !== expected) throw new Error(`the tables differ:\n${expected}\n${peer.name}:\n${await table(peer)}`);
    report({
      figure: "P25", case: peer.case, ratio: median(ours.millis.map((millis, i) => millis / peer.millis[i])),
      sides: [ours, peer].map(({ name, millis }) => ({ name, value: median(millis), unit: "ms" })),
    });
  }
} finally {
  clearInterval(reporting);
  await close();
}

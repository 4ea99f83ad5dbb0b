// Tests of hidden pages, and of pages in the back-forward cache of the browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { launch, setup, shows, skip, skipUnlessChromium, wholeChromium } from "./browser.js";

/** Opens pods and a view of them, with an engine that pauses as soon as all pages are hidden. */
async function showPausing(page: Page): Promise<void> {
  await page.evaluate(async () => {
    globalThis.wg = await watchglass.connect("/watch", { pauseMillis: 0, identity: "ann" });
    globalThis.pods = wg.collection("v1/pods");
    globalThis.view = pods.view({ sort: "name" });
    await view.ready;
  });
}

/** Headless pages are always visible, so the test changes their reported visibility. */
const hide = (page: Page, hidden: boolean) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);

const paused = (page: Page) => page.waitForFunction(() => pods.status.state === "reconnecting" && /paused while all pages are hidden/.test(pods.status.error!.message));

test("the connection is closed while all pages are hidden, and resumes from the same version", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const [first, second] = [await open(), await open()];
  for (const page of [first, second]) await showPausing(page);
  await hide(first, true);
  connector.put("default/web-2", "web", "Running");
  await shows(second, "web-1 Running, web-2 Running"); // one page is visible
  assert.equal(connector.hellos.length, 1);
  await hide(second, true);
  await paused(second);
  connector.put("default/web-3", "web", "Running");
  await hide(second, false);
  await shows(second, "web-1 Running, web-2 Running, web-3 Running");
  await second.waitForFunction(() => pods.status.state === "live");
  const { "collection.1.relists": relists, "collection.1.resumes": resumes } = await second.evaluate(() => wg.inspect());
  assert.deepEqual({ relists, resumes }, { relists: 1, resumes: 1 });
  assert.equal(connector.hellos.length, 2);
});

/**
 * Navigates to the previous page of the history. Returns the reasons why the browser did not cache
 * that page, or undefined if it was cached.
 */
async function goBack(page: Page): Promise<{ type: string; reason: string }[] | undefined> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Page.enable");
  const reasons = new Promise<{ type: string; reason: string }[]>((resolve) => {
    devtools.on("Page.backForwardCacheNotUsed", ({ notRestoredExplanations }) => resolve(notRestoredExplanations));
  });
  await page.evaluate(() => history.back()).catch(() => {}); // the navigation ends the page in which the call runs
  await page.waitForFunction(() => globalThis.watchglass !== undefined);
  const cached = await page.evaluate(() => globalThis.wg !== undefined);
  return cached ? undefined : reasons;
}

test("a page in the back-forward cache is current when it returns", { skip: skipUnlessChromium || (wholeChromium ? false : "the headless shell has no back-forward cache"), timeout: 300_000 }, async (t) => {
  const browser = await launch({ executablePath: wholeChromium!, ignoreDefaultArgs: ["--disable-back-forward-cache"] });
  t.after(() => browser.close());
  const { connector, open } = await setup(t, undefined, browser);
  const page = await open();
  const rows = ["web-1 Running", "web-2 Pending"];
  // On a busy machine the browser may discard a cached page, for example because freezing it takes
  // too long. The test fails if the page itself is the reason.
  for (let i = 3; ; i++) {
    await showPausing(page);
    await page.evaluate(() => addEventListener("pageshow", ({ persisted }) => ((globalThis as any).persisted = persisted)));
    await page.goto(`http://${connector.address}/page.js`);
    connector.put(`default/web-${i}`, "web", "Running");
    rows.push(`web-${i} Running`);
    const reasons = await goBack(page);
    if (reasons === undefined) break;
    assert.deepEqual(reasons.filter(({ type }) => type !== "Circumstantial"), []);
    t.diagnostic(`the browser did not cache the page: ${JSON.stringify(reasons)}`);
  }
  await page.waitForFunction(() => (globalThis as any).persisted === true);
  await shows(page, rows.join(", "));
  await page.waitForFunction(() => pods.status.state === "live");
  assert.equal(await page.evaluate(async () => (await wg.inspect())["views"]), 1);
});

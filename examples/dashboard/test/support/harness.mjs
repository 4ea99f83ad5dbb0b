// Runs the page in Chromium with a cluster in the page's memory, for one test file.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { fileURLToPath } from "node:url";
import { buildPage } from "../../build.mjs";
import { launch } from "./browser.mjs";
import { DashboardPage, newPage } from "./page.mjs";
import { serve } from "./static.mjs";

export const PODS = 300; // enough for all tests that do not depend on the number of rows

/** The page that the current test has opened. */
export let dashboard;

let folder, browser, server;
let shared; // the page that all tests share, except those that set options of the browser context

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "dashboard-page-"));
  await buildPage("test/cluster/main.ts", folder);
  copyFileSync(fileURLToPath(new URL("../../../../js/dist/watchglass.wasm", import.meta.url)), join(folder, "watchglass.wasm"));
  [server, browser] = await Promise.all([serve(folder), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.close();
  rmSync(folder, { recursive: true });
});
afterEach(async () => {
  const problems = dashboard?.problems ?? [];
  await (dashboard?.page === shared ? leave() : dashboard?.close());
  dashboard = undefined;
  assert.deepEqual(problems, []); // includes violations of the content security policy
});

/**
 * Opens the page and waits until it shows its pods. Tests share one browser page, whose process
 * compiles the module only once. A test that sets options of the browser context gets a separate
 * page.
 */
export async function open({ hash = "", pods = PODS, query = `?pods=${pods}`, ready = true, ...context } = {}) {
  const url = server.url + query + hash;
  if (Object.keys(context).length > 0) dashboard = await DashboardPage.open(browser, url, context);
  else {
    shared ??= await newPage(browser);
    dashboard = new DashboardPage(shared);
    await shared.goto(url);
  }
  if (ready) {
    await dashboard.state("live");
    await dashboard.frames();
  }
  return dashboard;
}

/** Empties the shared page for the next test. Only the browser history remains. */
async function leave() {
  await shared.evaluate(() => { localStorage.clear(); sessionStorage.clear(); });
  await shared.goto("about:blank");
  await shared.mouse.move(0, 0);
  shared.removeAllListeners("pageerror").removeAllListeners("console");
}

export const inPage = (work, argument) => dashboard.page.evaluate(work, argument);
export const until = (work, argument) => dashboard.page.waitForFunction(work, argument);

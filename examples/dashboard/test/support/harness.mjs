// Runs the page in Chromium with a cluster in the page's memory, for one test file.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before } from "node:test";
import { fileURLToPath } from "node:url";
import { buildPage } from "../../build.mjs";
import { launch } from "./browser.mjs";
import { DashboardPage } from "./page.mjs";
import { serve } from "./static.mjs";

export const PODS = 1000; // enough for tests of anything but the number of rows

/** The page that the test has opened. */
export let dashboard;

let folder, browser, server;

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
  await dashboard?.close();
  dashboard = undefined;
  assert.deepEqual(problems, []); // includes violations of the content security policy
});

/** Opens the page and waits until it shows its pods. */
export async function open({ hash = "", pods = PODS, query = `?pods=${pods}`, ready = true, ...context } = {}) {
  dashboard = await DashboardPage.open(browser, server.url + query + hash, context);
  if (ready) {
    await dashboard.state("live");
    await dashboard.frames();
  }
  return dashboard;
}

export const inPage = (work, argument) => dashboard.page.evaluate(work, argument);
export const until = (work, argument) => dashboard.page.waitForFunction(work, argument);

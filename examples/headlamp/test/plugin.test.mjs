// Tests the built plugin in Chromium. The page has Headlamp's own sidebar, routes,
// components and theme, and a simulated cluster behind Headlamp's paths.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch } from "../../dashboard/test/support/browser.mjs";
import { startBackend, startCluster } from "./support.mjs";

let cluster, backend, browser;

before(async () => {
  cluster = await startCluster(300);
  backend = await startBackend(cluster.api);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await backend?.stop();
  await cluster?.stop();
});

test("Headlamp shows workloads, live, sorted, selected and counted", async (t) => {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  t.after(() => context.close());
  const page = await context.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(`${backend.url}/c/main/live-workloads`);
  const state = page.getByTestId("state");
  await state.filter({ hasText: /^live, \d{3} objects$/ }).waitFor();
  await page.getByRole("heading", { name: "Live workloads" }).waitFor();
  await page.getByText("Live", { exact: true }).waitFor(); // the plugin's entry in the sidebar
  const names = () => page.getByTestId("rows").getByRole("link").allTextContents();
  await page.getByTestId("rows").getByRole("link").nth(24).waitFor();
  const first = await names();
  assert.equal(first.length, 25);
  await page.getByTestId("nodes").filter({ hasText: /^\d+ nodes$/ }).waitFor();
  await page.getByText(/^Running \d+$/).waitFor();
  await changesByItself(page);

  const restarts = 1 + (await page.getByTestId("rows").getByRole("columnheader").allTextContents()).indexOf("Restarts");
  await page.getByLabel("Sort").click();
  await page.getByRole("option", { name: "Restarts ↓" }).click();
  await page.waitForFunction((column) => {
    const shown = [...document.querySelectorAll(`[data-testid=rows] tbody td:nth-child(${column})`)].map((cell) => Number(cell.textContent));
    return shown.length === 25 && shown[0] > 0 && shown.every((n, i) => i === 0 || n <= shown[i - 1]);
  }, restarts);
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });
  await page.getByLabel("Sort").click();
  await page.getByRole("option", { name: "Name", exact: true }).click();
  await isSortedByName(page);

  await page.getByLabel("Labels").fill("app=web");
  await page.waitForFunction(() => {
    const links = [...document.querySelectorAll("[data-testid=rows] a")];
    return links.length > 0 && links.every((link) => link.textContent.startsWith("web-"));
  });
  await page.getByLabel("Labels").fill("app in (");
  await page.getByRole("alert").filter({ hasText: "app in (" }).waitFor();
  await page.getByLabel("Labels").fill("");
  await page.getByRole("alert").waitFor({ state: "detached" });
  await state.filter({ hasText: /^live, \d{3} objects$/ }).waitFor();
  await isSortedByName(page);

  await page.getByRole("button", { name: "Go to next page" }).click();
  await page.waitForFunction((name) => !document.querySelector(`[data-testid=rows]`).textContent.includes(name), first[0]);

  await page.getByLabel("Kind").click();
  await page.getByRole("option", { name: "Deployments" }).click();
  await state.filter({ hasText: /^live, \d+ objects$/ }).waitFor();

  backend.cut();
  await state.filter({ hasText: "reconnecting" }).waitFor();
  assert.ok((await names()).length > 0, "the rows stay");
  backend.cut(false);
  await state.filter({ hasText: "live" }).waitFor({ timeout: 60_000 });
  assert.deepEqual(problems, []);
});

/** Waits until the visible rows are in the natural order of their names, with web-2 before web-10. */
async function isSortedByName(page) {
  await page.waitForFunction(() => {
    const names = [...document.querySelectorAll("[data-testid=rows] a")].map((link) => link.textContent.replace(/\d+/g, (digits) => digits.padStart(40, "0")));
    return names.length === 25 && names.every((name, i) => i === 0 || name >= names[i - 1]);
  });
}

/** Waits until a visible row has other contents, except in its last column (Age). The test makes no input in between. */
async function changesByItself(page) {
  const shown = () => Object.fromEntries([...document.querySelectorAll("[data-testid=rows] tbody tr")].map(({ cells }) => {
    const [name, namespace, ...others] = [...cells].slice(0, -1).map((cell) => cell.textContent);
    return [`${namespace}/${name}`, others.join()];
  }));
  await page.evaluate(`window.shown = ${shown}; window.before = shown()`);
  await page.waitForFunction(() => Object.entries(window.shown()).some(([key, text]) => key in window.before && window.before[key] !== text));
}

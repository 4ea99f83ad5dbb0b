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

test("Headlamp shows live workloads, sorted, selected and counted", async (t) => {
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
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });

  await page.getByLabel("Labels").fill("app=api");
  await page.waitForFunction((total) => document.querySelector("[data-testid=state]").textContent !== total, await state.textContent());
  await page.waitForFunction(() => [...document.querySelectorAll("[data-testid=rows] a")].every((link) => link.textContent.startsWith("api-")));
  await page.getByLabel("Labels").fill("app in (");
  await page.getByRole("alert").filter({ hasText: "app in (" }).waitFor();
  await page.getByLabel("Labels").fill("");
  await page.waitForFunction((name) => document.querySelector("[data-testid=rows] a")?.textContent === name, first[0]);

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

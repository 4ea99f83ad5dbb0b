import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "../dashboard/test/support/browser.mjs";
import { Demo, binary, isBuilt } from "../dashboard/test/support/watchglass.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

test("the example has fewer than 60 lines of at most 110 characters", () => {
  const lines = readFileSync(at("app.tsx"), "utf8").trimEnd().split("\n");
  assert.ok(lines.length < 60, `${lines.length} lines`);
  assert.deepEqual(lines.filter((line) => line.length > 110), []);
});

test("a table of pods is live, sorted, searched, grouped and counted, and reports stale data", { skip: isBuilt ? false : `${binary} is not built` }, async (t) => {
  const demo = await Demo.start({ pods: 500, rate: 20 });
  t.after(() => demo.kill("SIGTERM"));
  const server = spawn(process.execPath, [at("serve.mjs"), demo.url], { env: { ...process.env, PORT: "0" }, stdio: ["ignore", "pipe", "inherit"] });
  t.after(() => server.kill());
  const { value: address } = await createInterface(server.stdout)[Symbol.asyncIterator]().next();
  const browser = await launch();
  t.after(() => browser.close());
  const page = await browser.newPage();
  const problems = [];
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  await page.goto(address);

  const status = page.getByRole("status");
  await page.locator('[data-state="live"]').waitFor();
  const rows = page.locator("tbody tr:has(td + td)"); // not the row of the button
  await rows.nth(49).waitFor();
  assert.equal(await rows.count(), 50);
  await changesByItself(page);

  const names = await page.locator("thead th").allTextContents();
  const column = (name) => `tbody td:nth-child(${names.indexOf(name) + 1}):not(:only-child)`;
  await page.waitForFunction((cells) => {
    const shown = [...document.querySelectorAll(cells)].map((cell) => Number(cell.textContent));
    return shown.length === 50 && shown[0] > 0 && shown.every((n, j) => j === 0 || n <= shown[j - 1]);
  }, column("Restarts"));
  await page.getByRole("button", { name: "More" }).click();
  await rows.nth(99).waitFor();
  await page.getByRole("button", { name: "Name", exact: true }).click();
  await page.locator('th[aria-sort="ascending"]', { hasText: /^Name$/ }).waitFor();
  await page.waitForFunction((cells) => {
    // In natural order, web-2 is before web-10.
    const comparable = (name) => name.replace(/\d+/g, (digits) => digits.padStart(40, "0"));
    const shown = [...document.querySelectorAll(cells)].map((cell) => comparable(cell.textContent));
    return shown.every((name, j) => j === 0 || name >= shown[j - 1]);
  }, column("Name"));

  const search = page.getByLabel("Search");
  await search.fill("too many words ".repeat(11));
  await page.getByRole("alert").filter({ hasText: "30 words" }).waitFor();
  assert.equal(await rows.count(), 100, "the rows of the last query stay");
  await search.fill("payments");
  await page.locator('[role="alert"]:empty').waitFor({ state: "attached" });
  await page.waitForFunction((cells) => {
    const shown = [...document.querySelectorAll(cells)];
    return shown.length > 0 && shown.every((cell) => cell.textContent === "payments");
  }, column("Namespace"));
  await search.fill("");

  await page.getByLabel("Group by").selectOption("Namespace");
  const groups = page.locator("tbody button[aria-expanded]");
  await groups.nth(1).waitFor();
  assert.equal(await rows.count(), 0);
  await groups.filter({ hasText: /^payments: \d+ pods, \d+ restarts$/ }).click();
  await groups.filter({ hasText: /^catalog: / }).click();
  await page.waitForFunction((cells) => {
    const shown = [...document.querySelectorAll(cells)].map((cell) => cell.textContent);
    return [...document.querySelectorAll('[aria-expanded="true"]')].every(({ textContent }) => {
      const [, namespace, pods] = /^(.+): (\d+) pods/.exec(textContent);
      return shown.filter((text) => text === namespace).length === Math.min(50, Number(pods));
    });
  }, column("Namespace"));
  assert.deepEqual([...new Set(await page.locator(column("Namespace")).allTextContents())], ["catalog", "payments"]);
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });

  await demo.kill();
  await page.locator('[data-state="reconnecting"]').waitFor();
  assert.ok(await rows.count(), "the rows stay");
  assert.match(await status.textContent(), /reconnecting/);
  await demo.start();
  await page.locator('[data-state="live"]').waitFor({ timeout: 60_000 });
  assert.deepEqual(problems.filter((text) => !/WebSocket|ERR_CONNECTION/.test(text)), []);
});

/** Waits until a row that is visible now has other contents. The test makes no input in between. */
async function changesByItself(page) {
  const shown = () => Object.fromEntries([...document.querySelectorAll("tbody tr:has(td + td)")].map(({ cells: [namespace, name, ...others] }) =>
    [`${namespace.textContent}/${name.textContent}`, others.map((cell) => cell.textContent).join()]));
  await page.evaluate(`window.shown = ${shown}; window.before = shown()`);
  await page.waitForFunction(() => Object.entries(window.shown()).some(([key, text]) => key in window.before && window.before[key] !== text));
}

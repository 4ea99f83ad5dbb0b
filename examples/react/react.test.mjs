import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "../dashboard/test/support/browser.mjs";
import { Demo, binary, isBuilt } from "../dashboard/test/support/watchglass.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

test("the example has fewer than 60 lines", () => {
  assert.ok(readFileSync(at("app.tsx"), "utf8").split("\n").length < 60);
});

test("a table of pods is live, sorted, searched, counted and grouped, and reports stale data", { skip: isBuilt ? false : `${binary} is not built` }, async (t) => {
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
  const rows = page.locator("tbody tr");
  await rows.nth(49).waitFor();
  assert.equal(await rows.count(), 50);

  const names = await page.locator("thead th").allTextContents();
  const cells = (name) => page.locator(`tbody td:nth-child(${names.indexOf(name) + 1})`).allTextContents();
  await page.waitForFunction((i) => {
    const shown = [...document.querySelectorAll(`tbody td:nth-child(${i})`)].map((cell) => Number(cell.textContent));
    return shown.length === 50 && shown.every((n, j) => j === 0 || n <= shown[j - 1]);
  }, names.indexOf("Restarts") + 1);
  await page.getByRole("button", { name: "name", exact: true }).click();
  await page.locator('th[aria-sort="ascending"]', { hasText: "name" }).waitFor();
  await page.waitForFunction((i) => {
    // In natural order, web-2 is before web-10.
    const comparable = (name) => name.replace(/\d+/g, (digits) => digits.padStart(40, "0"));
    const shown = [...document.querySelectorAll(`tbody td:nth-child(${i})`)].map((cell) => comparable(cell.textContent));
    return shown.every((name, j) => j === 0 || name >= shown[j - 1]);
  }, names.indexOf("name") + 1);

  await page.getByLabel("Search").fill("too many words ".repeat(11));
  await page.getByRole("alert").waitFor();
  assert.match(await page.getByRole("alert").textContent(), /30 words/);
  assert.equal(await rows.count(), 50, "the rows of the last query stay");
  await page.getByLabel("Search").fill("tier=data");
  await page.getByRole("alert").waitFor({ state: "detached" });

  const running = page.getByRole("button", { name: /^Running \d+$/ });
  await running.click();
  await page.locator('[aria-pressed="true"]').waitFor();
  await page.waitForFunction((i) => [...document.querySelectorAll(`tbody td:nth-child(${i})`)].every((cell) => !["Pending", "ContainerCreating", "Completed"].includes(cell.textContent)), names.indexOf("Status") + 1);
  assert.ok((await cells("Status")).includes("Running"));

  await page.getByLabel("Group by").selectOption("namespace");
  const group = page.locator("tbody button").first();
  const [, namespace] = /^(.+): \d+ pods, \d+ restarts$/.exec(await group.textContent());
  await group.click();
  await page.locator('[aria-expanded="true"]').waitFor();
  await page.waitForFunction((namespace) => {
    const [, inGroup] = /: (\d+) pods/.exec(document.querySelector('[aria-expanded="true"]').textContent);
    const [, total] = /, (\d+) pods/.exec(document.querySelector('[role="status"]').textContent);
    const shown = [...document.querySelectorAll("tbody td:first-child")].map((cell) => cell.textContent);
    return inGroup === total && shown.length === Math.min(50, Number(total)) && shown.every((text) => text === namespace);
  }, namespace);
  if (process.env.SCREENSHOT) await page.screenshot({ path: process.env.SCREENSHOT });

  await demo.kill();
  await page.locator('[data-state="reconnecting"]').waitFor();
  assert.ok(await rows.count(), "the rows stay");
  assert.match(await status.textContent(), /reconnecting/);
  await demo.start();
  await page.locator('[data-state="live"]').waitFor({ timeout: 60_000 });
  assert.deepEqual(problems.filter((text) => !/WebSocket|ERR_CONNECTION/.test(text)), []);
});

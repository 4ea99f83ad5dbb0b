// Tests of the inspector in a real browser, with a content security policy that forbids inline
// styles and parsing HTML from strings.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import type { WatchglassInspector } from "../src/inspector.js";
import { age, bytes } from "../src/inspector/format.js";
import { Writer } from "../src/wire/codec.js";
import { writeSubscriptionStatus } from "../src/wire/status.js";
import { serve, setup, show, skip, type Setup } from "./browser.js";
import { packaged } from "./paths.js";

const policy = "default-src 'none'; img-src data:; script-src 'self' 'wasm-unsafe-eval'; connect-src 'self'; worker-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'";

async function strictSetup(t: TestContext): Promise<Setup & { page: Page; violations: string[] }> {
  const made = await setup(t, (request, response) => {
    // The policy requires a Trusted Type in place of the worker's URL, so tests under this policy
    // use inline engines.
    response.setHeader("content-security-policy", policy);
    serve(request, response);
  });
  const page = await made.open();
  const violations: string[] = [];
  page.on("console", (message) => message.type() === "error" && violations.push(message.text()));
  return { ...made, page, violations };
}

/** Adds an inspector to the page. */
async function inspect(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const entry = "/inspector.js";
    await import(entry);
    const inspector = document.createElement("watchglass-inspector") as WatchglassInspector;
    inspector.client = wg;
    document.body.append(inspector);
  });
}

const tab = (page: Page, name: string) => page.getByRole("tab", { name: new RegExp(`^${name}`) });

/** Selects a tab and waits until its table contains `text`. */
async function find(page: Page, name: string, text: string | RegExp): Promise<void> {
  await tab(page, name).click();
  await page.getByRole("tabpanel").getByRole("row").filter({ hasText: text }).first().waitFor();
}

/** Waits until a figure at the top of the inspector has a value. */
const figure = (page: Page, name: string, value: string) =>
  page.waitForFunction(
    ({ name, value }) => [...document.querySelector("watchglass-inspector")!.shadowRoot!.querySelectorAll("dl > div")].some((each) => each.children[0]!.textContent === name && each.children[1]!.textContent === value),
    { name, value },
  );

/** Waits until the first collection has a cell with these contents, and returns the tone of the cell. */
async function cell(page: Page, title: string, contents: RegExp | string): Promise<string> {
  const row = page.getByRole("tabpanel").getByRole("row");
  const titles = await row.first().getByRole("columnheader").allTextContents();
  const found = row.nth(1).getByRole("cell").nth(titles.indexOf(title)).filter({ hasText: typeof contents === "string" ? new RegExp(`^${contents}$`) : contents });
  await found.waitFor();
  return (await found.getAttribute("data-tone")) ?? "";
}

test("the inspector lists what the page has open, under a strict policy", { skip }, async (t) => {
  const { connector, page, violations } = await strictSetup(t);
  await show(page, "/watch", "inline");
  await page.evaluate(async () => {
    (globalThis as any).handle = wg.object("v1/pods", "default/web-1", { owner: "detail page" });
    void (async () => {
      for await (const _ of pods.watch({ labelSelector: "app=web" }));
    })();
  });
  await inspect(page);
  await figure(page, "Collections", "1");
  await figure(page, "Views", "1");
  await figure(page, "References", "1");
  await find(page, "Collections", /v1\/pods.*live.*2/);
  await find(page, "Views", "sort=name1–22");
  await find(page, "Watches", "labelSelector=app=web");
  await find(page, "Objects", "default/web-1detail pagelive");
  await tab(page, "Events").click();
  await page.waitForFunction(() => wg.opened().filter(({ type }) => type === "watch").length === 2);
  connector.put("default/web-2", "web", "Running");
  await find(page, "Events", "MODIFIEDdefault/web-2103");
  await tab(page, "Collections").click();
  // The Events tab has its own watch, which ends when another tab is selected.
  await page.waitForFunction(() => wg.opened().filter(({ type }) => type === "watch").length === 1);
  await page.getByRole("row").filter({ hasText: "103" }).waitFor();
  connector.cut();
  await find(page, "Errors", /v1\/pods.*503/);
  assert.deepEqual(violations, []);
});

test("the inspector counts reconnects, and collections of other pages", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const [page, other] = [await open(), await open()];
  await show(page, "/watch");
  await show(other, "/watch");
  await inspect(page);
  await find(page, "Collections", "another page");
  await figure(page, "Collections", "2");
  await figure(page, "Objects", "2"); // the objects of the one subscription that both pages share
  connector.cut();
  await page.evaluate(() => wg.reconnect());
  await figure(page, "Reconnects", "1");
  await other.close();
  await figure(page, "Collections", "1");
  await page.evaluate(() => wg.close());
  await page.getByRole("status").filter({ hasText: "the connection is closed" }).waitFor();
});

test("the inspector shows the memory, the 410s and the stalls of a collection", { skip }, async (t) => {
  const { connector, page } = await strictSetup(t);
  connector.padding = "x".repeat(5000);
  connector.put("default/web-1", "web", "Running");
  await show(page, "/watch", "inline");
  await page.evaluate(() => pods.synced);
  await inspect(page);
  const used = await page.evaluate(async () => (await wg.inspect())["collection.1.usedBytes"]!);
  assert.ok(used > 1000 && used < 100_000, `${used} bytes`);
  for (const title of ["410s", "Stalls"]) {
    assert.equal(await cell(page, title, "0"), "");
    await figure(page, title, "0");
  }
  await cell(page, "Memory", used < 10_000 ? `${(used / 1000).toFixed(1)} kB` : `${Math.round(used / 1000)} kB`);
  await figure(page, "Memory", bytes(used));

  await page.evaluate(async () => {
    const events = ((globalThis as any).events = pods.watch({ resourceVersion: pods.progress.resourceVersion, credit: 2 })[Symbol.asyncIterator]());
    (globalThis as any).first = events.next();
    await wg.inspect(); // the engine has opened the watch
  });
  for (let i = 0; i < 10; i++) connector.put("default/web-2", "web", `Phase ${i}`);
  await page.waitForFunction((rv) => pods.progress.resourceVersion === rv, String(connector.rv));
  const stalls = await page.evaluate(async () => (await wg.inspect())["collection.1.stalls"]!);
  assert.ok(stalls > 0);
  assert.equal(await cell(page, "Stalls", String(stalls)), "warn");
  await figure(page, "Stalls", String(stalls));

  assert.equal(await cell(page, "Relists", "1"), "");
  const w = new Writer();
  writeSubscriptionStatus(w, 1, { code: 410, reason: "Expired", message: "the history has expired" });
  connector.send(w.take());
  assert.equal(await cell(page, "410s", "1"), "warn");
  await figure(page, "410s", "1");
  await cell(page, "Relists", "2");
  assert.deepEqual(connector.subscribes, [0, 0]);
});

test("the inspector shows the time since the last progress", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const page = await open();
  // The test stops the clock of the page, and therefore also the engine's clock.
  await page.clock.install();
  await page.clock.pauseAt(Date.now() + 60_000);
  const shown = show(page, "/watch", "inline");
  await page.clock.runFor(1000);
  await shown;
  await page.evaluate(() => pods.synced);
  await inspect(page);
  connector.silent = true;
  const [progress, now] = await page.evaluate(() => [pods.progress.lastProgress, Date.now()]);
  await page.clock.runFor(progress! + 6500 - now!);
  await cell(page, "Lag", /^[56]\.\d s$/); // the inspector draws once per second
  await page.clock.runFor(60_000);
  await cell(page, "Lag", /^6[567] s$/);
  await figure(page, "Lag", await page.getByRole("tabpanel").getByRole("row").nth(1).getByRole("cell").nth(5).innerText());
});

test("the inspector formats sizes and ages", () => {
  assert.deepEqual([0, 999, 1000, 9949, 123_400, 5e6, 7.7e10].map(bytes), ["0 B", "999 B", "1.0 kB", "9.9 kB", "123 kB", "5.0 MB", "77 GB"]);
  assert.equal(age(0, 1e6), "–");
  assert.deepEqual([-1, 0, 9949, 119_000, 120_000, 7_200_000, 172_800_000].map((millis) => age(1e9, 1e9 + millis)), ["0.0 s", "0.0 s", "9.9 s", "119 s", "2 min", "2 h", "2 d"]);
});

test("the inspector is usable by keyboard, and follows the color scheme", { skip }, async (t) => {
  const { page } = await strictSetup(t);
  await show(page, "/watch", "inline");
  await inspect(page);
  await tab(page, "Collections").focus();
  const focused = () => page.evaluate(() => document.activeElement!.shadowRoot!.activeElement!.textContent!.replace(/ \d+$/, ""));
  const visited: string[] = [];
  for (const key of ["ArrowRight", "End", "ArrowRight", "ArrowLeft", "Home"]) {
    await page.keyboard.press(key);
    visited.push(await focused());
    assert.equal(await page.getByRole("tab", { selected: true }).count(), 1);
    assert.equal((await page.getByRole("tab", { selected: true }).textContent())!.replace(/ \d+$/, ""), visited.at(-1));
  }
  assert.deepEqual(visited, ["Views", "Events", "Collections", "Events", "Collections"]);
  await page.keyboard.press("Tab"); // moves the focus from the tabs into the panel
  assert.equal(await page.evaluate(() => document.activeElement!.shadowRoot!.activeElement!.getAttribute("role")), "tabpanel");
  const colors = () => page.evaluate(() => (({ color, backgroundColor }) => `${color} on ${backgroundColor}`)(getComputedStyle(document.querySelector("watchglass-inspector")!)));
  assert.equal(await colors(), "rgb(27, 32, 39) on rgb(255, 255, 255)");
  await page.evaluate(() => ((document.documentElement as HTMLElement).style.colorScheme = "dark"));
  assert.equal(await colors(), "rgb(227, 232, 239) on rgb(21, 26, 33)");
  // The default action of the event removes the element. A listener of the page can prevent this
  // action.
  await page.evaluate(() => document.querySelector("watchglass-inspector")!.addEventListener("close", (event) => event.preventDefault(), { once: true }));
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("watchglass-inspector").count(), 1);
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("watchglass-inspector").count(), 0);
});

test("the inspector stops reading when it is removed, and continues when it is added again", { skip }, async (t) => {
  const { page } = await strictSetup(t);
  await show(page, "/watch", "inline");
  await page.evaluate(() => {
    const running = new Set<unknown>();
    const { setInterval, clearInterval } = globalThis;
    Object.assign(globalThis, {
      running,
      setInterval(...args: Parameters<typeof setInterval>) {
        const id = setInterval(...args);
        running.add(id);
        return id;
      },
      clearInterval(id: number) {
        running.delete(id);
        clearInterval(id);
      },
    });
  });
  const timers = () => page.evaluate(() => (globalThis as any).running.size as number);
  await inspect(page);
  await tab(page, "Events").click();
  await page.waitForFunction(() => wg.opened().some(({ type }) => type === "watch"));
  assert.equal(await timers(), 1);
  await page.evaluate(() => {
    const inspector = ((globalThis as any).removed = document.querySelector("watchglass-inspector")!);
    inspector.remove();
  });
  assert.equal(await timers(), 0);
  await page.waitForFunction(() => !wg.opened().some(({ type }) => type === "watch"));
  await page.evaluate(() => document.body.append((globalThis as any).removed));
  await find(page, "Collections", /v1\/pods.*live/);
  assert.equal(await page.getByRole("tab").count(), 7);
  assert.equal(await timers(), 1);
});

test("a server imports the inspector without an effect", () => {
  const script = `await import(${JSON.stringify(packaged("dist/inspector.js"))}); console.log(typeof customElements);`;
  assert.equal(execFileSync(process.execPath, ["--input-type=module", "-e", script], { encoding: "utf8" }).trim(), "undefined");
});

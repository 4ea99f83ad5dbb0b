// Tests of the inspector in a real browser, with a content security policy that forbids inline
// styles and parsing HTML from strings.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test, type TestContext } from "node:test";
import type { Page } from "playwright-core";
import type { WatchglassInspector } from "../src/inspector.js";
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

// Tests of the inspector's panel for stored states, in a real browser.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Page } from "playwright-core";
import type { WatchglassInspector } from "../src/inspector.js";
import { setup, shows, skip } from "./browser.js";

interface Options {
  token?: string;
  persist?: boolean | { maxBytes: number };
  worker?: "shared" | "dedicated" | "inline";
}

/** Opens pods, and the inspector with its panel for stored states. */
async function inspect(page: Page, { token = "t0ken", persist = true, worker = "shared" }: Options = {}): Promise<void> {
  await page.evaluate(
    async ({ token, persist, worker }) => {
      globalThis.wg = await watchglass.connect("/watch", { token, persist, worker });
      globalThis.pods = wg.collection("v1/pods", { namespace: "default" });
      globalThis.view = pods.view({ sort: "name" });
      await view.ready;
      const entry = "/inspector.js";
      await import(entry);
      const inspector = document.createElement("watchglass-inspector") as WatchglassInspector;
      inspector.client = wg;
      document.body.append(inspector);
    },
    { token, persist, worker },
  );
  await page.getByRole("tab", { name: /^Persistence/ }).click();
}

const panel = (page: Page) => page.getByRole("tabpanel");
const row = (page: Page, text: string | RegExp) => panel(page).getByRole("row").filter({ hasText: text }).first().waitFor();
const note = (page: Page, text: string) => panel(page).getByRole("status").filter({ hasText: text }).waitFor();
const none = "No state is stored on this origin.";

test("the inspector lists stored states, with their size, age, identity and last restore", { skip }, async (t) => {
  const { open } = await setup(t);
  const page = await open();
  await inspect(page);
  await row(page, /v1\/podsnamespace=default[0-9a-f]{8}, this page[\d.]+ k?B102[\d.]+ s–/);
  await panel(page).getByText(/^1 state, [\d.]+ k?B of at most 268 MB; all data of this origin: [\d.]+ k?B of a quota of [\d.]+ GB$/).waitFor();
  await page.getByRole("tab", { name: "Persistence 1" }).waitFor();
  await page.close();

  const again = await open();
  await inspect(again);
  await row(again, /v1\/pods.*restored [\d.]+ s ago/);
  const other = await open();
  await inspect(other, { token: "another" });
  await row(other, "another page");
  await row(again, "another page");
  await other.close();
  await row(again, "not open");
});

test("the inspector shows why a stored state was discarded", { skip }, async (t) => {
  const { connector, open } = await setup(t);
  const first = await open();
  await inspect(first);
  await row(first, "102");
  await first.close();
  const page = await open();
  await page.evaluate(async () => {
    const db = await new Promise<IDBDatabase>((resolve) => {
      const request = indexedDB.open("watchglass");
      request.onsuccess = () => resolve(request.result);
    });
    await new Promise<void>((resolve) => {
      const transaction = db.transaction("chunks", "readwrite");
      transaction.oncomplete = () => resolve();
      transaction.objectStore("chunks").clear();
    });
    db.close();
  });
  await inspect(page);
  await row(page, /v1\/pods.*discarded [\d.]+ s ago: it has 0 of 1 chunks/);
  await row(page, /this page[\d.]+ k?B102.*discarded/); // the state is stored again
  connector.put("default/web-2", "web", "Running");
  await shows(page, "web-1 Running, web-2 Running");
});

test("the inspector deletes all stored states, by keyboard", { skip }, async (t) => {
  const { open } = await setup(t);
  const page = await open();
  await inspect(page);
  await row(page, "102");
  await page.getByRole("tab", { name: /^Persistence/ }).focus();
  await page.keyboard.press("Tab"); // moves the focus to the panel
  await page.keyboard.press("Tab");
  const button = panel(page).getByRole("button", { name: "Delete all" });
  assert.ok(await button.evaluate((each) => (each.getRootNode() as ShadowRoot).activeElement === each));
  await page.keyboard.press("Enter");
  await note(page, "All states were deleted. Open pages store nothing more until they are reloaded.");
  await panel(page).getByText(none).waitFor();
  assert.ok(await button.isDisabled());
  assert.deepEqual(await page.evaluate(() => indexedDB.databases()), []);
});

test("the inspector explains why no state is stored, and creates no database", { skip }, async (t) => {
  const { open } = await setup(t);
  const page = await open();
  await inspect(page, { persist: false });
  await panel(page).getByText(none).waitFor();
  await note(page, "This page stores nothing: its client has no persist option.");
  assert.deepEqual(await page.evaluate(() => indexedDB.databases()), []);
  const unknown = await open();
  await inspect(unknown, { token: "", worker: "dedicated" });
  await note(unknown, "No further states are stored: the user is unknown");
});

test("the inspector shows that the storage cannot be read", { skip }, async (t) => {
  const { open } = await setup(t);
  const page = await open();
  await page.evaluate(() => {
    IDBFactory.prototype.open = () => {
      throw new DOMException("access is denied", "SecurityError");
    };
  });
  await inspect(page);
  await note(page, "The browser's storage cannot be read: access is denied");
});

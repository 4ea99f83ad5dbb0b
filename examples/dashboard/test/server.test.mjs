// Tests of the page that the watchglass binary serves, with a changing cluster.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { launch } from "./support/browser.mjs";
import { DashboardPage } from "./support/page.mjs";
import { serve } from "./support/static.mjs";
import { Demo, binary, isBuilt, sleep } from "./support/watchglass.mjs";

const PODS = 10_000;
const dist = fileURLToPath(new URL("../dist", import.meta.url));

describe("served by watchglass", { skip: isBuilt ? false : `${binary} is not built` }, () => {
  let browser, demo;
  const pages = [];

  before(async () => {
    [browser, demo] = await Promise.all([launch(), Demo.start({ pods: PODS, rate: 200 })]);
  });
  after(async () => {
    await browser?.close();
    await demo?.kill("SIGTERM");
  });
  afterEach(() => Promise.all(pages.splice(0).map((page) => page.close())));

  async function open(url = demo.url) {
    const page = await DashboardPage.open(browser, url);
    pages.push(page);
    await page.state("live");
    await page.page.waitForFunction(() => Number(document.querySelector("#range").dataset.total) > 0);
    return page;
  }

  test("shows 10,000 pods and their changes", async () => {
    const page = await open();
    const total = await page.total();
    assert.ok(Math.abs(total - PODS) < PODS / 10, `${total} pods`);
    assert.ok((await page.rows.count()) < 40);
    const before = (await page.page.evaluate(() => watchglassDashboard.progress)).resourceVersion;
    await page.page.waitForFunction((rv) => BigInt(watchglassDashboard.progress.resourceVersion) > BigInt(rv) + 20n, before);
    assert.deepEqual(page.problems, []);
  });

  test("the engine's own error is shown", async () => {
    const page = await open();
    await page.get("label-selector").fill("app in web");
    await page.get("query-error").waitFor();
    assert.match(await page.get("query-error").textContent(), /label selector "app in web": at offset 7: expected "\("/);
    assert.ok(await page.rows.count());
    await page.get("label-selector").fill("tier in (data)");
    await page.get("query-error").waitFor({ state: "hidden" });
    await page.columnMatches("Labels", /tier=data/);
  });

  test("a link with a query shows the rows that the engine in the worker selects", async () => {
    const page = await open(`${demo.url}#/v1/pods?search=web&where=restarts+%3E%3D+0&sort=-Restarts%2C+name&facet.Status=Running`);
    await page.page.locator("[data-testid=rows] mark").first().waitFor();
    assert.deepEqual([...new Set(await page.column("Status"))], ["Running"]);
    assert.ok(Number(await page.page.locator(".chip[data-facet=Running] .chip-count").textContent().then((text) => text.replaceAll(",", ""))) > 0);
    await page.get("where").fill("restarts >");
    await page.get("query-error").getByText("at offset 10: expected a value after >").waitFor();
    assert.ok(await page.rows.count());
    assert.deepEqual(page.problems, []);
  });

  test("counts are those of the objects, and a whole object opens", async () => {
    const page = await open();
    await page.page.locator(".chip[data-facet=Running]").click();
    await page.page.waitForFunction(() => [...document.querySelectorAll("[data-key] .status")].every((cell) => cell.textContent === "Running"));
    await page.rows.nth(1).click({ position: { x: 30, y: 10 } });
    await page.get("detail-body").getByText("kind: Pod").waitFor();
    await page.get("detail-body").getByText("phase: Running").waitFor();
    assert.deepEqual(page.problems, []);
  });

  test("the overview counts all resources, and a pod has its controllers and events", async () => {
    const page = await open();
    await page.page.locator(".brand").click();
    await page.page.locator('[data-card="v1/nodes"] [data-bar=Ready]').waitFor();
    await page.page.waitForFunction(() => [...document.querySelectorAll(".card")].every((card) => card.dataset.state === "live"));
    await page.page.locator('[data-card="v1/pods"] [data-bar=Running]').click();
    await page.page.locator("[data-key] .status").getByText("Running", { exact: true }).first().waitFor();
    await page.rows.nth(1).click({ position: { x: 30, y: 10 } });
    await page.get("owners").getByRole("link", { name: "Deployment " }).waitFor();
    await page.page.waitForFunction(() => document.querySelector("#events-list > li") || document.querySelector("#events-note").textContent.startsWith("None"));
    assert.deepEqual(page.problems, []);
  });

  test("two tabs share an engine, because everyone may read everything", async () => {
    const { page } = await open();
    const views = (tab) => tab.evaluate(async () => (await watchglassDashboard.connection.inspect()).views);
    const alone = await views(page);
    const second = await page.context().newPage();
    await second.goto(demo.url);
    await second.waitForFunction(() => Number(document.querySelector("#range").dataset.total) > 0);
    assert.ok(alone > 0 && (await views(second)) > alone);
  });

  test("unknown resources are named", async () => {
    const page = await DashboardPage.open(browser, `${demo.url}#/apps/v1/gizmos`);
    pages.push(page);
    await page.page.getByText("gizmos").last().waitFor();
    await page.page.getByRole("button", { name: "Show pods" }).click();
    await page.state("live");
  });
});

describe("a server that is killed and comes back", { skip: isBuilt ? false : `${binary} is not built` }, () => {
  test("the rows stay, are reported as stale, and become current", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "dashboard-etcd-"));
    const [browser, demo] = await Promise.all([launch(), Demo.start({ pods: 1000, rate: 0, dataDir })]);
    try {
      const page = await DashboardPage.open(browser, demo.url);
      await page.state("live");
      await page.page.waitForFunction(() => document.querySelector("[data-key]"));
      const keys = await page.keys();
      await demo.kill();
      await page.page.waitForSelector("[data-testid=pill]:is([data-state=reconnecting], [data-state=stale])");
      assert.equal(await page.get("banner").isVisible(), true);
      assert.deepEqual((await page.keys()).slice(0, 5), keys.slice(0, 5));
      await page.page.getByText(/next attempt in \d+s/).waitFor();
      await demo.start();
      await page.page.evaluate(() => document.querySelector("[data-testid=reconnect]").click()); // the button is hidden if the page has already reconnected
      await page.state("live");
      assert.equal(await page.get("banner").isVisible(), false);
      await eventuallySame(() => page.objects(), () => freshRead(browser, demo.url));
    } finally {
      await browser.close();
      await demo.kill("SIGTERM");
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});

test("a server that dies while the page loads is reported to the user", async () => {
  const server = await serve(dist, (path) => path === "/watchglass.wasm" && server.close());
  const browser = await launch();
  try {
    const page = await DashboardPage.open(browser, server.url);
    await page.page.getByText("Could not start").waitFor();
    await page.page.getByText("The server stopped answering while the page was loading. Reload the page once it is back.", { exact: true }).waitFor();
  } finally {
    await browser.close();
  }
});

/** Opens a new page and returns its objects. */
async function freshRead(browser, url) {
  const page = await DashboardPage.open(browser, url);
  await page.state("live");
  const objects = await page.objects();
  await page.close();
  return objects;
}

/**
 * Waits until two readers of the same cluster return the same objects. The cluster may still be
 * changing at first.
 */
async function eventuallySame(read, otherRead, timeout = 120_000) {
  const deadline = Date.now() + timeout;
  for (;;) {
    const [a, b] = await Promise.all([read(), otherRead()]);
    if (JSON.stringify(a) === JSON.stringify(b)) return;
    if (Date.now() > deadline) assert.deepEqual(a, b);
    await sleep(200);
  }
}

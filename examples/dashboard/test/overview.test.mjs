// The page with the counts of the cluster, in a real browser.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { violations } from "./support/axe.mjs";
import { dashboard, inPage, open, until } from "./support/harness.mjs";
import { VIEWPORT } from "./support/page.mjs";

const QUERY = "?pods=200&shop";
const openOverview = (options = {}) => open({ query: QUERY, hash: "#/overview", ...options });
const card = (resource) => dashboard.page.locator(`[data-card="${resource}"]`);
const bar = (resource, id) => card(resource).locator(`[data-bar="${id}"]`);
const number = (text) => Number(text.replaceAll(",", ""));
const value = async (resource, id) => number(await bar(resource, id).locator(".bar-value").textContent());
const counted = (resource, total) => card(resource).locator(".card-total").getByText(String(total), { exact: true }).waitFor();

/** The width of a bar, in percent of its chart. */
const width = async (resource, id) => Number(await bar(resource, id).locator(".bar-fill").getAttribute("width"));

describe("overview", () => {
  test("counts objects by status, follows them, and leads to the filtered table", async () => {
    await openOverview();
    await counted("v1/pods", 202);
    const [running, failed] = [await value("v1/pods", "Running"), await value("v1/pods", "Failed")];
    assert.ok(Math.abs(await width("v1/pods", "Running") - (100 * running) / 202) < 0.01);
    await counted("v1/nodes", 120);
    assert.equal(await value("v1/nodes", "Ready"), 120);
    await inPage(() => {
      cluster.update("v1/pods", "shop/alone", ({ status }) => { status.phase = "Failed"; });
      cluster.update("v1/nodes", "node-3", ({ status }) => { status.conditions[0].status = "False"; });
    });
    await until((n) => document.querySelector('[data-card="v1/pods"] [data-bar=Failed] .bar-value').textContent === String(n), failed + 1);
    await bar("v1/nodes", "NotReady").waitFor();
    await bar("v1/pods", "Failed").focus();
    await dashboard.page.keyboard.press("Enter");
    await dashboard.hasTotal(failed + 1);
    assert.deepEqual([...new Set(await dashboard.column("Status"))], ["Failed"]);
    await dashboard.page.goBack();
    await counted("v1/pods", 202);
    await card("apps/v1/deployments").locator("h3 a").click();
    await dashboard.hasTotal(2);
  });

  test("tells ready workloads from others", async () => {
    await openOverview();
    await counted("apps/v1/deployments", 2);
    await until(() => document.querySelector('[data-bar="not ready"] .bar-value').textContent === "1");
    assert.equal(await value("apps/v1/deployments", "ready"), 1);
    await bar("apps/v1/deployments", "not ready").click();
    await dashboard.hasTotal(1);
    assert.deepEqual(await dashboard.keys(), ["shop/ledger"]);
    assert.equal(await dashboard.get("where").inputValue(), "not ready");
  });

  test("counts a namespace, by the picker and by its bar", async () => {
    await openOverview();
    await counted("v1/pods", 202);
    await dashboard.get("namespace").selectOption("shop");
    await counted("v1/pods", 2);
    await counted("v1/nodes", 120);
    assert.deepEqual(await card("v1/pods").locator("[data-bar]").evaluateAll((bars) => bars.map(({ dataset }) => dataset.bar)), ["Running", "shop"]);
    assert.ok((await dashboard.get("namespace").locator("option").count()) > 5, "the other namespaces stay available");
    assert.match(dashboard.page.url(), /#\/overview\?namespace=shop$/);
    await bar("v1/pods", "Running").click();
    await dashboard.hasTotal(2);
  });

  test("says what is loading, absent, refused or old", async () => {
    await openOverview({ query: `${QUERY}&wait`, ready: false });
    await card("v1/pods").getByText("Loading").waitFor();
    await inPage(() => { cluster.deny("v1/events"); cluster.load(); });
    await dashboard.state("live");
    await counted("v1/pods", 202);
    await card("batch/v1/jobs").getByText("None").waitFor();
    await card("v1/events").getByText(/^You may not list events\..*v1\/events is forbidden/).waitFor();
    await inPage(() => { cluster.allow("v1/events"); watchglassDashboard.connection.reconnect(); });
    await counted("v1/events", 3);
    await inPage(() => cluster.shown.set({ state: "stale", lastProgress: Date.now() - 40_000 }));
    await dashboard.state("stale");
    await card("v1/pods").getByText(/^As of \d/).waitFor();
    await counted("v1/pods", 202);
    assert.equal(await dashboard.get("banner").isVisible(), true);
  });

  test("asks for a token", async () => {
    await openOverview({ query: `${QUERY}&wait`, ready: false });
    await inPage(() => cluster.shown.set({ state: "forbidden", error: { code: 401, reason: "Unauthorized", message: "a token is needed" } }));
    await dashboard.page.getByLabel("Bearer token").waitFor();
  });

  test("has its resources open only while it is shown, and no secrets", async () => {
    await openOverview();
    await counted("v1/pods", 202);
    const opened = () => inPage(() => [...new Set(watchglassDashboard.connection.opened().filter(({ type }) => type === "collection").map(({ resource }) => resource))].sort());
    assert.ok((await opened()).length > 10);
    assert.ok(!(await opened()).includes("v1/secrets"));
    await dashboard.get("resource").selectOption("v1/pods");
    await dashboard.hasTotal(202);
    assert.deepEqual(await opened(), ["v1/pods"]);
    await dashboard.page.locator(".brand").click();
    await counted("v1/pods", 202);
    assert.equal(await inPage(() => document.title), "overview · watchglass");
  });

  test("is accessible, and fits a narrow page", async () => {
    await openOverview();
    await counted("v1/events", 3);
    assert.deepEqual(await violations(dashboard.page), []);
    await dashboard.page.setViewportSize({ width: 400, height: 760 });
    assert.equal(await inPage(() => document.documentElement.scrollWidth), 400);
    await dashboard.page.setViewportSize(VIEWPORT);
  });
});

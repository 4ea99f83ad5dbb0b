// Tests of the page with the counts of the cluster, in a real browser.
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

/** Returns the width of a bar, in percent of its chart. */
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

  test("distinguishes ready workloads from others", async () => {
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

  test("shows what is loading, missing, refused or stale, and asks for a token", async () => {
    await openOverview({ query: `${QUERY}&wait`, ready: false });
    await card("v1/pods").getByText("Loading").waitFor();
    await inPage(() => cluster.shown.set({ state: "forbidden", error: { code: 401, reason: "Unauthorized", message: "a token is needed" } }));
    await dashboard.page.getByLabel("Bearer token").waitFor();
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

test("a user of one namespace sees it, after its name is given or by a link", async () => {
  await open({ query: `${QUERY}&only=shop`, ready: false });
  await dashboard.page.getByText("you may only read shop").first().waitFor();
  await dashboard.get("overlay").getByLabel("Namespace").fill("shop");
  await dashboard.page.keyboard.press("Enter");
  await dashboard.hasTotal(2);
  await dashboard.state("live");
  await dashboard.page.evaluate(() => { location.hash = "#/overview?namespace=shop"; });
  await counted("v1/pods", 2);
  await counted("apps/v1/deployments", 2);
  await card("v1/nodes").getByText(/^You may not list nodes/).waitFor();
  await dashboard.get("namespace").selectOption("");
  await card("v1/pods").getByText(/^You may not list pods/).waitFor();
  await dashboard.get("namespace").evaluate((select) => { select.append(new Option("shop", "shop")); select.value = "shop"; select.dispatchEvent(new Event("change")); });
  await counted("v1/pods", 2);
});

describe("an open object", () => {
  const POD = "checkout-7d9-a";
  const openObject = (resource, key) => open({ query: QUERY, hash: `#/${resource}?object=${encodeURIComponent(key)}` });
  const events = () => dashboard.get("events").locator("li").evaluateAll((items) => items.map((item) => item.querySelector("strong").textContent));
  const links = () => dashboard.get("links").locator("a");

  test("shows its events, newest first, as they arrive", async () => {
    await openObject("v1/pods", `shop/${POD}`);
    await dashboard.get("events").getByText("back-off restarting the container").waitFor();
    assert.deepEqual(await events(), ["Warning BackOff", "Scheduled"]);
    await dashboard.get("events").getByText(/^5m(\d+s)? ago, 3 times, by kubelet$/).waitFor();
    await inPage((pod) => cluster.addEvent(4, pod, 0, "Normal", "Killing", "stopping the container"), POD);
    await dashboard.get("events").getByText("stopping the container").waitFor();
    assert.deepEqual(await events(), ["Killing", "Warning BackOff", "Scheduled"]);
    const all = dashboard.get("events").getByRole("link", { name: "All events of this object" });
    assert.equal(await all.isVisible(), false);
    await inPage((pod) => { for (let i = 0; i < 50; i++) cluster.addEvent(5 + i, pod, 60, "Normal", "Pulled", "an old one"); }, POD);
    await all.waitFor();
    assert.equal((await events()).length, 50);
    assert.match(decodeURIComponent(await all.getAttribute("href")), /namespace=shop&fieldSelector=involvedObject.uid=uid-Pod-checkout-7d9-a/);
    await dashboard.page.evaluate(() => { location.hash = "#/v1/pods?object=shop/alone"; });
    await dashboard.get("events").getByText("the image is present").waitFor();
    assert.deepEqual(await events(), ["Pulled"]);
    assert.deepEqual(await violations(dashboard.page), []);
  });

  test("without the right to list events reports that, and works", async () => {
    await open({ query: QUERY });
    await inPage(() => cluster.deny("v1/events"));
    await dashboard.page.evaluate((pod) => { location.hash = `#/v1/pods?object=shop/${pod}`; }, POD);
    await dashboard.get("events").getByText(/^You may not list events\..*v1\/events is forbidden/).waitFor();
    await dashboard.get("detail-body").getByText("kind: Pod").waitFor();
    await dashboard.get("owners").getByRole("link", { name: "Deployment checkout" }).waitFor();
    await dashboard.state("live");
    await inPage(() => { cluster.allow("v1/events"); watchglassDashboard.connection.reconnect(); });
    await dashboard.get("events").getByText("back-off restarting the container").waitFor();
  });

  test("has the chain of its controllers, and leads to them and their pods", async () => {
    await openObject("v1/pods", `shop/${POD}`);
    await dashboard.get("owners").getByRole("link", { name: "Deployment checkout" }).waitFor();
    assert.deepEqual(await dashboard.get("owners").locator("li").allTextContents(), ["ReplicaSet checkout-7d9", "Deployment checkout"]);
    assert.deepEqual(await links().allTextContents(), ["Node node-1"]);
    await dashboard.get("owners").getByRole("link", { name: "Deployment checkout" }).click();
    await dashboard.page.getByRole("heading", { name: "shop/checkout" }).waitFor();
    await links().getByText("Its pods").click();
    await dashboard.hasTotal(1);
    assert.deepEqual(await dashboard.keys(), [`shop/${POD}`]);
    assert.equal(await dashboard.get("detail").isVisible(), false);
  });

  test("names owners that are missing or not readable", async () => {
    await open({ query: QUERY });
    await inPage(() => { cluster.deny("apps/v1/deployments"); cluster.update("v1/pods", "shop/alone", ({ metadata }) => { metadata.ownerReferences = [{ apiVersion: "batch/v1", kind: "Job", name: "gone", uid: "u", controller: true }]; }); });
    await dashboard.page.evaluate(() => { location.hash = "#/v1/pods?object=shop/alone"; });
    await dashboard.get("owners").getByText("Job gone (not found)").waitFor();
    await dashboard.page.evaluate((pod) => { location.hash = `#/v1/pods?object=shop/${pod}`; }, POD);
    await dashboard.get("owners").getByText("Deployment checkout (you may not read it)").waitFor();
    await inPage(() => { location.hash = "#/v1/pods"; });
    await until(() => watchglassDashboard.connection.opened().filter(({ type }) => type === "object" || type === "collection").length === 1);
  });

  // In the kubelet's events about its node, the UID is the name of the node.
  test("that is a node has its events, and leads to its pods", async () => {
    await openObject("v1/nodes", "node-1");
    await inPage(() => cluster.apply({
      apiVersion: "v1", kind: "Event", metadata: { name: "n.1", namespace: "default" }, type: "Normal", reason: "Rebooted", message: "it is back",
      involvedObject: { kind: "Node", name: "node-1", uid: "node-1" },
    }));
    await dashboard.get("events").getByText("it is back").waitFor();
    await links().getByText("Pods on this node").click();
    await until(() => document.querySelector("#field-selector").value === "spec.nodeName=node-1");
    await dashboard.get("wide").click();
    await dashboard.columnMatches("Node", /^node-1$/);
  });
});

// Tests of the tree of the objects that the open object owns, in a real browser.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { violations } from "./support/axe.mjs";
import { dashboard, inPage, open, until } from "./support/harness.mjs";
import { VIEWPORT } from "./support/page.mjs";

const QUERY = "?pods=200&shop";
const CHECKOUT = "#/apps/v1/deployments?object=shop/checkout";
const openCheckout = (options = {}) => open({ query: QUERY, hash: CHECKOUT, ...options });
const items = () => dashboard.get("tree").locator("[role=treeitem]");
const item = (name) => items().filter({ has: dashboard.page.locator(".tree-name", { hasText: new RegExp(`^${name}$`) }) });

/** Returns the texts of the visible nodes, indented by their level. */
const lines = () => items().evaluateAll((all) => all.map((item) => "  ".repeat(item.ariaLevel - 1) + item.textContent.trim()));
const shows = async (expected) => {
  await until((expected) => {
    const all = [...document.querySelectorAll("#tree-items > *")];
    return JSON.stringify(all.map((item) => "  ".repeat(item.ariaLevel - 1) + item.textContent.trim())) === JSON.stringify(expected);
  }, expected).catch(async (error) => assert.deepEqual(await lines(), expected, error.message));
};
const note = (text) => dashboard.get("tree").getByText(text).waitFor();

/** Adds a pod to a replica set of the shop. */
const addPod = (name, set, status = { phase: "Running" }) => inPage(({ name, set, status }) => {
  const owner = { apiVersion: "apps/v1", kind: "ReplicaSet", name: set, uid: `uid-ReplicaSet-${set}`, controller: true };
  cluster.apply({
    apiVersion: "v1", kind: "Pod", metadata: { name, namespace: "shop", uid: `uid-Pod-${name}`, ownerReferences: [owner] },
    spec: { containers: [{ name: "main" }] }, status,
  });
}, { name, set, status });
const crashing = { phase: "Running", containerStatuses: [{ name: "main", ready: false, restartCount: 4, state: { waiting: { reason: "CrashLoopBackOff" } } }] };

const CHECKOUT_LINES = [
  "Deployment checkout 2/2 ready 1 Running",
  "  ReplicaSet checkout-7d9 2/2 ready 1 Running",
  "    Pod checkout-7d9-a Running · 1/1 ready",
];

describe("the tree of owned objects", () => {
  test("has the states of all objects below a deployment, and follows them", async () => {
    await openCheckout();
    await shows(CHECKOUT_LINES);
    await dashboard.get("tree").getByText("Owned objects 2").waitFor();
    await inPage(() => {
      const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "checkout", uid: "uid-Deployment-checkout", controller: true };
      cluster.apply({
        apiVersion: "apps/v1", kind: "ReplicaSet", metadata: { name: "checkout-1a2", namespace: "shop", uid: "uid-ReplicaSet-checkout-1a2", ownerReferences: [owner] },
        spec: { replicas: 0 }, status: { replicas: 0 },
      });
    });
    await addPod("checkout-7d9-b", "checkout-7d9", crashing);
    await shows([
      "Deployment checkout 2/2 ready 1 CrashLoopBackOff 1 Running",
      "  ReplicaSet checkout-7d9 2/2 ready 1 CrashLoopBackOff 1 Running",
      "    Pod checkout-7d9-a Running · 1/1 ready",
      "    Pod checkout-7d9-b CrashLoopBackOff · 0/1 ready · 4 restarts",
      "  ReplicaSet checkout-1a2 0/0 ready",
    ]);
    const states = (name) => item(name).locator("[data-status]").evaluateAll((all) => all.map(({ dataset }) => dataset.status));
    assert.deepEqual(await states("checkout-7d9-b"), ["CrashLoopBackOff"]);
    assert.deepEqual(await states("checkout-1a2"), [""]);
    await inPage(() => {
      cluster.delete("v1/pods", "shop/checkout-7d9-b");
      cluster.delete("apps/v1/replicasets", "shop/checkout-1a2");
      cluster.update("apps/v1/deployments", "shop/checkout", ({ status }) => { status.readyReplicas = 1; });
    });
    await shows(["Deployment checkout 1/2 ready 1 Running", ...CHECKOUT_LINES.slice(1)]);
    assert.deepEqual(await states("checkout"), ["not ready", "Running"]);
  });

  test("leads to each object, and closes what it opened", async () => {
    await openCheckout();
    await shows(CHECKOUT_LINES);
    await item("checkout-7d9").click();
    await dashboard.page.getByRole("heading", { name: "shop/checkout-7d9" }).waitFor();
    await shows(["ReplicaSet checkout-7d9 2/2 ready 1 Running", "  Pod checkout-7d9-a Running · 1/1 ready"]);
    await item("checkout-7d9-a").click();
    await dashboard.page.getByRole("heading", { name: "shop/checkout-7d9-a" }).waitFor();
    await dashboard.get("detail-body").getByText("kind: Pod").waitFor();
    assert.equal(await dashboard.get("tree").isVisible(), false, "a pod owns no objects");
    await dashboard.get("detail-close").click();
    await until(() => watchglassDashboard.connection.opened().filter(({ type }) => type === "object" || type === "collection").length === 1);
  });

  test("is used by the keyboard", async () => {
    await openCheckout();
    await shows(CHECKOUT_LINES);
    const focused = () => inPage(() => document.activeElement.closest(".tree-item")?.querySelector(".tree-name").textContent);
    const press = async (...keys) => {
      for (const key of keys) {
        await dashboard.page.keyboard.press(key);
        await dashboard.frames();
      }
      return focused();
    };
    await item("checkout").focus();
    assert.equal(await press("ArrowDown"), "checkout-7d9");
    assert.equal(await press("ArrowRight"), "checkout-7d9-a", "to the first child");
    assert.equal(await press("ArrowRight"), "checkout-7d9-a");
    assert.equal(await press("ArrowLeft"), "checkout-7d9", "to the parent");
    assert.equal(await press("ArrowLeft"), "checkout-7d9");
    assert.equal((await lines()).length, 2, "it is collapsed");
    assert.equal(await item("checkout-7d9").getAttribute("aria-expanded"), "false");
    assert.equal(await press("ArrowDown"), "checkout-7d9", "the last one");
    await press("ArrowRight");
    assert.deepEqual(await lines(), CHECKOUT_LINES);
    assert.equal(await press("End"), "checkout-7d9-a");
    assert.equal(await items().and(dashboard.page.locator("[tabindex='0']")).count(), 1, "Tab reaches one item");
    assert.equal(await press("ArrowUp"), "checkout-7d9");
    assert.equal(await press("Home"), "checkout");
    await item("checkout-7d9-a").focus();
    await addPod("checkout-7d9-0", "checkout-7d9");
    await item("checkout-7d9-0").waitFor();
    assert.equal(await focused(), "checkout-7d9-a", "the focus stays when items are inserted");
    await inPage(() => cluster.delete("v1/pods", "shop/checkout-7d9-a"));
    await until(() => document.activeElement.closest(".tree-item")?.querySelector(".tree-name").textContent === "checkout");
    await item("checkout-7d9-0").focus();
    await dashboard.page.keyboard.press("Enter");
    await dashboard.page.getByRole("heading", { name: "shop/checkout-7d9-0" }).waitFor();
  });

  test("a click on the arrow collapses and expands a node", async () => {
    await openCheckout();
    await shows(CHECKOUT_LINES);
    await item("checkout-7d9").locator(".twist").click();
    await shows(CHECKOUT_LINES.slice(0, 2));
    await item("checkout-7d9").locator(".twist").click();
    await shows(CHECKOUT_LINES);
    assert.match(dashboard.page.url(), /object=shop\/checkout$/, "the link was not followed");
  });

  test("shows that it is loading, empty or behind", async () => {
    await openCheckout({ query: `${QUERY}&hold=replicasets` });
    await note("Loading");
    await inPage(() => cluster.load());
    await shows(CHECKOUT_LINES);
    await inPage(() => cluster.shown.set({ state: "stale", lastProgress: Date.now() - 40_000 }));
    await note(/^As of \d/);
    await shows(CHECKOUT_LINES);
    await inPage(() => { cluster.shown.reset(); location.hash = "#/apps/v1/deployments?object=shop/ledger"; });
    await note("None. New ones appear here by themselves.");
    assert.equal(await dashboard.get("tree").locator("[role=tree]").isVisible(), false);
  });

  test("without the right to list pods has the other objects and the reason, until the right returns", async () => {
    await open({ query: QUERY, hash: "#/apps/v1/deployments" });
    await inPage(() => { cluster.deny("v1/pods"); location.hash = "#/apps/v1/deployments?object=shop/checkout"; });
    await note(/^You may not list pods\..*v1\/pods is forbidden/);
    await shows(["Deployment checkout 2/2 ready", "  ReplicaSet checkout-7d9 2/2 ready"]);
    await dashboard.get("detail-body").getByText("kind: Deployment").waitFor();
    await inPage(() => { cluster.allow("v1/pods"); watchglassDashboard.connection.reconnect(); });
    await shows(CHECKOUT_LINES);
    assert.equal(await dashboard.get("tree").locator("#tree-note").isVisible(), false);
  });

  test("collapses nodes with many children, and reports that objects are missing", async () => {
    await openCheckout();
    await shows(CHECKOUT_LINES);
    await inPage(() => {
      const pod = (i) => ({
        apiVersion: "v1", kind: "Pod", status: { phase: "Pending" },
        metadata: { name: `many-${i}`, namespace: "shop", ownerReferences: [{ apiVersion: "apps/v1", kind: "ReplicaSet", name: "checkout-7d9", uid: "uid-ReplicaSet-checkout-7d9", controller: true }] },
      });
      for (let i = 0; i < 60; i++) cluster.apply(pod(i));
    });
    await shows(["Deployment checkout 2/2 ready 60 Pending 1 Running", "  ReplicaSet checkout-7d9 2/2 ready 60 Pending 1 Running"]);
    await item("checkout-7d9").locator(".twist").click();
    await until(() => document.querySelectorAll("#tree-items > *").length === 63);
    await inPage(() => { for (let i = 60; i < 1000; i++) cluster.apply({ apiVersion: "v1", kind: "Pod", status: { phase: "Pending" }, metadata: { name: `many-${i}`, namespace: "shop", ownerReferences: [{ uid: "uid-ReplicaSet-checkout-7d9" }] } }); });
    await note("Only the first 1,000 objects of each resource are shown and counted.");
  });

  test("has the objects of a custom resource, and those of a service", async () => {
    await open({ query: QUERY });
    await inPage(() => {
      cluster.apply({ apiVersion: "example.com/v1", kind: "Shop", metadata: { name: "main", namespace: "shop", uid: "uid-shop" } });
      cluster.update("apps/v1/deployments", "shop/checkout", ({ metadata }) => { metadata.ownerReferences = [{ apiVersion: "example.com/v1", kind: "Shop", name: "main", uid: "uid-shop", controller: true }]; });
      cluster.apply({ apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice", metadata: { name: "checkout-x", namespace: "shop", ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "checkout", uid: "uid-service" }] }, addressType: "IPv4", endpoints: [], ports: [] });
      cluster.update("v1/services", "shop/checkout", ({ metadata }) => { metadata.uid = "uid-service"; });
      location.hash = "#/example.com/v1/shops?object=shop/main";
    });
    await shows(["Shop main 1 Running", ...CHECKOUT_LINES.map((line) => `  ${line}`)]);
    await inPage(() => { location.hash = "#/v1/services?object=shop/checkout"; });
    await shows(["Service checkout", "  EndpointSlice checkout-x"]);
    await inPage(() => { location.hash = "#/v1/configmaps?object=web/settings-7"; });
    await dashboard.get("detail-body").getByText("kind: ConfigMap").waitFor();
    assert.equal(await dashboard.get("tree").isVisible(), false, "a config map owns no objects");
  });

  test("is accessible, and fits a narrow page", async () => {
    await openCheckout();
    await shows(CHECKOUT_LINES);
    assert.deepEqual(await violations(dashboard.page), []);
    await dashboard.page.setViewportSize({ width: 400, height: 760 });
    assert.equal(await inPage(() => document.documentElement.scrollWidth), 400);
    const { x, width } = await item("checkout-7d9-a").boundingBox();
    assert.ok(x >= 0 && x + width <= 400);
    await dashboard.page.setViewportSize(VIEWPORT);
  });
});

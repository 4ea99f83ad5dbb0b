// Tests of the choice of columns, saved views, and exports, in a real browser.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, test } from "node:test";
import { violations } from "./support/axe.mjs";
import { dashboard, inPage, open, until } from "./support/harness.mjs";
import { VIEWPORT } from "./support/page.mjs";

const PODS = 300;
const openTable = (hash = "") => open({ pods: PODS, hash });
const titles = () => dashboard.page.locator("[role=columnheader]").allTextContents();
const openMenu = (name) => dashboard.page.locator(`#tools [data-menu=${name}]`).click();
const params = () => inPage(() => [...new URLSearchParams(location.hash.split("?")[1]).entries()]);

describe("columns", () => {
  const toggle = async (title) => {
    await dashboard.page.locator("#tools").getByRole("checkbox", { name: title, exact: true }).click();
    await dashboard.frames();
  };

  test("are shown and hidden, and kept in the link", async () => {
    await openTable();
    await openMenu("columns");
    await toggle("Labels");
    await toggle("Node");
    assert.deepEqual(await titles(), ["Name", "Namespace", "Ready", "Status", "Restarts", "Node", "Age"]);
    assert.ok((await dashboard.column("Node")).some((node) => /^node-\d+$/.test(node)));
    assert.equal(await dashboard.page.locator("#tools").getByRole("checkbox", { name: "Name", exact: true }).isDisabled(), true);
    const [url, shown] = [dashboard.page.url(), await titles()];
    await dashboard.page.goto("about:blank");
    await dashboard.page.goto(url);
    await dashboard.hasTotal(PODS);
    assert.deepEqual(await titles(), shown);
    await openMenu("columns");
    await toggle("Node");
    await toggle("Labels");
    assert.deepEqual(await params(), [], "kubectl's columns need no list");
    await inPage(() => { location.hash = "#/v1/nodes?column=Restarts&column=Version&column="; });
    await dashboard.hasTotal(120);
    assert.deepEqual(await titles(), ["Name", "Version"], "columns of other resources are ignored");
  });

  test("of times sort and filter while they are hidden, and have ages when they are chosen", async () => {
    const table = (query) => `#/v1/events?namespace=times&${new URLSearchParams(query)}`;
    const show = (query) => inPage((hash) => { location.hash = hash; }, table(query));
    await open({ query: "?pods=20", hash: table({ sort: "First Seen" }) });
    await inPage(() => {
      const ago = (hours) => new Date(Date.now() - hours * 3_600_000).toISOString().replace(/\.\d+/, "");
      const event = (name, created, times) =>
        cluster.apply({
          apiVersion: "v1", kind: "Event", metadata: { name, namespace: "times", creationTimestamp: ago(created) }, type: "Normal", reason: "Started", message: "m",
          involvedObject: { kind: "Pod", name: "web", namespace: "times" }, ...times,
        });
      // The page shows ages of 8 hours or more without minutes, which would change during the test.
      event("a", 30, { firstTimestamp: ago(14), lastTimestamp: ago(12) });
      event("b", 10, { firstTimestamp: ago(26), lastTimestamp: ago(9) });
      event("c", 20, {});
    });
    await dashboard.hasTotal(3);
    await dashboard.frames();
    const order = async () => (await dashboard.column("Name")).join(" ");
    assert.equal((await titles()).includes("First Seen"), false);
    assert.equal(await order(), "a b c");
    await show({ where: '"First Seen" < 20h' });
    await dashboard.hasTotal(1);
    assert.equal(await order(), "a");
    await show({ where: "creationTimestamp > 15h", sort: "-creationTimestamp" });
    await dashboard.hasTotal(2);
    await dashboard.frames();
    assert.equal(await order(), "a c");
    await show({ column: "First Seen", sort: "-First Seen nulls last" });
    await dashboard.hasTotal(3);
    await dashboard.frames();
    assert.deepEqual(await titles(), ["Name", "First Seen"]);
    assert.deepEqual([await order(), await dashboard.column("First Seen")], ["b a c", ["26h", "14h", "<unknown>"]]);
  });
});

describe("columns about pods", () => {
  const box = (title) => dashboard.page.locator("#tools").getByRole("checkbox", { name: title, exact: true });
  const shows = (states) => dashboard.page.getByText(states, { exact: true }).waitFor();

  test("are offered for workloads, follow the pods, and are sorted", async () => {
    await open({ query: "?pods=200&shop", hash: "#/apps/v1/deployments?namespace=shop" });
    await openMenu("columns");
    assert.equal(await box("Pods").isChecked(), false);
    for (const title of ["Pods", "Pod states"]) await box(title).click();
    assert.equal(await box("Pod states").evaluate((input) => input === document.activeElement), true, "the menu stays");
    await shows("Running 1");
    assert.deepEqual([await dashboard.column("Name"), await dashboard.column("Pods")], [["checkout", "ledger"], ["1", "0"]]);
    await inPage(() => cluster.update("v1/pods", "shop/checkout-7d9-a", ({ status }) => { status.containerStatuses[0].state = { waiting: { reason: "CrashLoopBackOff" } }; }));
    await shows("CrashLoopBackOff 1");
    await inPage(() => { location.hash += "&sort=Pods"; });
    await until(() => document.querySelector("[aria-sort=ascending]")?.textContent.startsWith("Pods"));
    await dashboard.frames();
    assert.deepEqual(await dashboard.column("Name"), ["ledger", "checkout"]);
    for (const title of ["Pods", "Pod states"]) await box(title).click();
    assert.deepEqual((await params()).filter(([name]) => name !== "sort"), [["namespace", "shop"]]);
  });

  test("are absent where the user may not list pods", async () => {
    await open({ query: "?pods=200&shop", hash: "#/apps/v1/deployments?namespace=shop" });
    await inPage(() => { cluster.deny("v1/pods"); location.hash += "&column=Ready&column=Pods"; });
    await until(() => watchglassDashboard.status?.error?.cause === "JoinUnavailable");
    await dashboard.frames();
    assert.deepEqual(await titles(), ["Name", "Ready"]);
    assert.deepEqual(await dashboard.column("Name"), ["checkout", "ledger"]);
  });
});

describe("saved views", () => {
  const links = () => dashboard.page.locator("#tools .menu-panel:not([hidden]) a");
  const save = async (name) => {
    await openMenu("views");
    await dashboard.page.getByLabel("Name of this view").fill(name);
    await dashboard.page.keyboard.press("Enter");
    await links().getByText(name, { exact: true }).waitFor();
  };

  test("keep the link under a name, also after a reload, until they are deleted", async () => {
    await openTable("#/v1/pods?search=web&sort=-Restarts&column=Restarts&object=web%2Fgone");
    await save("Restarting web");
    await dashboard.page.goto("about:blank");
    await openTable("#/v1/nodes");
    await dashboard.hasTotal(120);
    await openMenu("views");
    await links().getByText("Restarting web").click();
    await until(() => document.querySelector("#search").value === "web");
    assert.deepEqual(await params(), [["search", "web"], ["sort", "-Restarts"], ["column", "Restarts"]], "the open object is not part of it");
    assert.equal(await dashboard.page.locator("#tools .menu-panel:not([hidden])").count(), 0);
    await openMenu("views");
    await dashboard.page.getByRole("button", { name: "Delete Restarting web" }).click();
    assert.equal(await links().count(), 0);
    assert.equal(await inPage(() => localStorage.getItem("watchglass.views")), "[]");
  });

  test("replace one of the same name, and ignore what they cannot use", async () => {
    await openTable();
    await inPage(() => localStorage.setItem("watchglass.views", JSON.stringify([{ name: "bad", hash: "javascript:alert(1)" }, null, 7, { hash: "#/x" }])));
    await save("mine");
    await dashboard.get("search").fill("api");
    await until(() => location.hash.includes("search=api"));
    await save("mine");
    assert.deepEqual(await links().evaluateAll((all) => all.map((link) => link.getAttribute("href"))), ["#/v1/pods?search=api"]);
  });

  test("that cannot be stored report the reason", async () => {
    await openTable();
    await inPage(() => { Storage.prototype.setItem = () => { throw new Error("the quota is used up"); }; });
    await openMenu("views");
    await dashboard.page.getByLabel("Name of this view").fill("x");
    await dashboard.page.keyboard.press("Enter");
    await dashboard.page.getByText("Not saved: the quota is used up").waitFor();
  });
});

describe("export", () => {
  const exportAs = async (format) => {
    await openMenu("export");
    const [download] = await Promise.all([
      dashboard.page.waitForEvent("download"),
      dashboard.page.locator("#tools").getByRole("button", { name: format }).click(),
    ]);
    return { name: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") };
  };

  test("has all matching rows, with the shown columns, as JSON", async () => {
    await openTable("#/v1/pods?search=web&sort=-Restarts,name&column=Namespace&column=Restarts&column=Age&column=Labels");
    await dashboard.page.locator("[data-testid=rows] mark").first().waitFor();
    const total = await dashboard.total();
    const { name, text } = await exportAs("JSON");
    assert.match(name, /^pods-[\dT-]+\.json$/);
    const rows = JSON.parse(text);
    assert.equal(rows.length, total);
    assert.deepEqual(Object.keys(rows[0]), ["Name", "Namespace", "Restarts", "Age", "Labels"]);
    assert.deepEqual(rows.slice(0, 5).map((row) => `${row.Namespace}/${row.Name}`), (await dashboard.keys()).slice(0, 5));
    const restarts = rows.map((row) => row.Restarts);
    assert.deepEqual(restarts, [...restarts].sort((a, b) => b - a));
    const pod = await inPage((key) => watchglassDashboard.collection.get(key), `${rows[0].Namespace}/${rows[0].Name}`);
    assert.deepEqual(rows[0].Labels, pod.metadata.labels);
    assert.equal(Date.parse(rows[0].Age), Date.parse(pod.metadata.creationTimestamp));
    await dashboard.get("export-result").getByText(`Exported ${total} pods`).waitFor();
  });

  test("is safe for spreadsheets as CSV", async () => {
    await openTable();
    await inPage(() => cluster.apply({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", namespace: "web", labels: { a: 'x"y' } } }));
    await inPage(() => { for (const message of ["=1+1", 'a "b",\nc', " @SUM(A1)"]) cluster.addEvent(message.length, "alone", 1, "Normal", "Test", message); });
    await dashboard.page.evaluate(() => { location.hash = "#/v1/events?sort=Message&column=Reason&column=Message"; });
    await dashboard.hasTotal(3);
    const { name, text } = await exportAs("CSV");
    assert.match(name, /^events-.*\.csv$/);
    const lines = text.split("\r\n");
    assert.equal(lines[0], '"Name","Reason","Message"');
    assert.deepEqual(lines.slice(1, -1).map((line) => line.slice(line.indexOf(",") + 1)).sort(), ['"Test","\'=1+1"', '"Test","\'@SUM(A1)"', '"Test","a ""b"",\nc"']);
    assert.equal(lines.at(-1), "");
  });

  test("of many rows shows its progress, and can be cancelled", async () => {
    await open({ pods: 5000 });
    await dashboard.hasTotal(5000);
    await inPage(() => {
      globalThis.seen = [];
      new MutationObserver(() => seen.push(document.querySelector("#export-text").textContent)).observe(document.querySelector("#export-text"), { childList: true });
    });
    const { text } = await exportAs("CSV");
    const keys = text.split("\r\n").slice(1, -1).map((line) => line.split(",", 2).join());
    assert.equal(keys.length, 5000);
    assert.equal(new Set(keys).size, 5000);
    const seen = await inPage(() => globalThis.seen);
    assert.ok(seen.some((text) => /^Exporting [24],000 of 5,000$/.test(text)), seen.join());
    await openMenu("export");
    await inPage(() => {
      document.querySelector("#tools .menu-panel:not([hidden]) button").click();
      document.querySelector("#export-cancel").click();
    });
    await dashboard.get("export-result").getByText("Export cancelled").waitFor();
    assert.equal(await dashboard.get("exporting").isVisible(), false);
    const views = await inPage(() => watchglassDashboard.connection.opened().filter(({ type }) => type === "view").length);
    assert.equal(views, 2, "the windows of the exports are closed");
  });
});

test("the menus are accessible, and fit a narrow page", async () => {
  await openTable();
  await dashboard.page.setViewportSize({ width: 400, height: 760 });
  for (const name of ["columns", "views", "export"]) {
    await openMenu(name);
    const panel = await dashboard.page.locator("#tools .menu-panel:not([hidden])").boundingBox();
    assert.ok(panel.x >= 0 && panel.x + panel.width <= 400 && panel.y >= 0, JSON.stringify(panel));
  }
  await dashboard.page.keyboard.press("Escape");
  await openMenu("views");
  assert.deepEqual(await violations(dashboard.page), []);
  assert.equal(await inPage(() => document.documentElement.scrollWidth), 400);
  await dashboard.page.setViewportSize(VIEWPORT);
});

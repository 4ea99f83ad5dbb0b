// Tests of groups of rows, in a real browser.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { violations } from "./support/axe.mjs";
import { dashboard, inPage, open, until } from "./support/harness.mjs";

const PODS = 600;
const openGroups = (params, options = {}) => open({ pods: PODS, hash: `#/v1/pods?${params}`, ...options });
const groups = () => dashboard.page.locator("[data-testid=rows] > [data-group]");
const group = (title) => groups().filter({ has: dashboard.page.getByText(title, { exact: true }) });
const press = async (...keys) => {
  for (const key of keys) await dashboard.page.keyboard.press(key);
  await dashboard.frames();
};
const params = () => inPage(() => [...new URLSearchParams(location.hash.split("?")[1]).entries()]);

/** Returns the drawn groups as [title, rows, expanded], in the order of the table. */
const drawn = () => groups().evaluateAll((elements) => elements.map((element) => [
  element.querySelector(".group-title").textContent, Number(element.querySelector(".chip-count").textContent.replaceAll(",", "")), element.ariaExpanded,
]));

/**
 * Groups the pods of the cluster by the value of an expression. Returns [value, keys] pairs, sorted
 * by value.
 */
const podsBy = (value) => inPage(async (value) => {
  const { items } = await watchglassDashboard.collection.list();
  const members = {};
  for (const pod of items) (members[new Function("pod", `return ${value}`)(pod)] ??= []).push(`${pod.metadata.namespace}/${pod.metadata.name}`);
  const natural = new Intl.Collator("en", { numeric: true });
  return Object.entries(members).map(([name, keys]) => [name, keys.sort()]).sort(([a], [b]) => natural.compare(a, b));
}, value);

/** Waits until the drawn rows have exactly these keys. `keys` is sorted. */
const showsRows = (keys) => until((keys) => {
  const rows = [...document.querySelectorAll("[data-testid=rows] > [data-key]")].map((row) => row.dataset.key);
  return JSON.stringify(rows.sort()) === JSON.stringify(keys);
}, keys);

describe("groups", () => {
  test("are chosen in a menu, have counts and numbers, and open by a click", async () => {
    await openGroups("search=node-11");
    await dashboard.page.locator("#tools [data-menu=group]").click();
    await dashboard.page.locator("#tools").getByRole("checkbox", { name: "Node", exact: true }).click();
    await groups().first().waitFor();
    await press("Escape");
    const expected = await podsBy("pod.spec.nodeName").then((all) => all.filter(([name]) => name.includes("node-11")));
    assert.deepEqual(await drawn(), expected.map(([name, { length }]) => [name, length, "false"]));
    assert.match(await groups().first().textContent(), /Restarts \d+.* newest \d+[smhdy]/);
    assert.equal(await dashboard.get("grid").getAttribute("role"), "treegrid");
    const [[name, keys]] = expected;
    await group(name).click();
    await showsRows(keys);
    assert.equal(await group(name).getAttribute("aria-expanded"), "true");
    assert.deepEqual(await params(), [["search", "node-11"], ["group", "Node"], ["expand", JSON.stringify([name])]]);
    assert.deepEqual(await violations(dashboard.page), []);
    await group(name).click();
    await showsRows([]);
    assert.deepEqual(await dashboard.page.getByTestId("range").textContent(), `${expected.reduce((sum, [, { length }]) => sum + length, 0)} pods in ${expected.length} groups`);
  });

  test("by two columns, also of missing values, open by the keyboard", async () => {
    await openGroups("group=Status&group=namespace&where=namespace+in+(web,payments)");
    await groups().first().waitFor();
    const expected = await podsBy("pod.status.phase + ' · ' + pod.metadata.namespace").then((all) => all.filter(([name]) => /(web|payments)$/.test(name)));
    assert.deepEqual((await drawn()).map(([, rows]) => rows), expected.map(([, { length }]) => length));
    await dashboard.get("grid").focus();
    await press("ArrowDown", "ArrowUp", "ArrowRight"); // the first key only activates the first row
    const [[name, keys]] = expected;
    await until((name) => document.querySelector("[data-group][aria-expanded=true] .group-title")?.textContent === name, name);
    await dashboard.page.locator("[data-testid=rows] > [data-key]").first().waitFor();
    const level = () => dashboard.page.locator(".row.active").getAttribute("aria-level");
    await press("ArrowRight");
    assert.equal(await level(), "2");
    await press("ArrowLeft");
    assert.equal(await level(), "1");
    await press("ArrowLeft");
    await showsRows([]);
    await press("Enter");
    await dashboard.page.locator("[data-testid=rows] > [data-key]").first().waitFor();
    assert.ok(keys.includes((await dashboard.keys())[0]));
  });

  test("are virtual, and all their rows can be reached", async () => {
    await openGroups("group=Ready&group=labels%5Btier%5D", { pods: 1000 });
    await groups().first().waitFor();
    const ids = await groups().evaluateAll((elements) => elements.map(({ dataset }) => dataset.group.slice("group ".length)));
    await inPage((ids) => { location.hash += ids.map((id) => `&expand=${encodeURIComponent(id)}`).join(""); }, ids);
    await dashboard.page.locator("[data-testid=rows] > [data-key]").first().waitFor();
    const seen = new Set();
    const height = await inPage(() => document.querySelector("#grid").scrollHeight);
    assert.equal(height, 34 * (1000 + ids.length) + (await inPage(() => document.querySelector("#head").parentElement.offsetHeight)));
    for (let top = 0; top < height; top += 600) {
      await dashboard.scrollTo(top);
      await until(() => !document.querySelector("[data-testid=rows]").textContent.includes("Loading"));
      for (const key of await dashboard.keys()) seen.add(key);
      assert.ok((await dashboard.page.locator("[data-testid=rows] > *").count()) < 60);
    }
    assert.equal(seen.size, 1000);
  });

  test("follow the objects, and a group without objects collapses", async () => {
    await openGroups(`group=Status&expand=${encodeURIComponent('["Lonely"]')}`, { ready: false, query: "?pods=40&hold=pods" });
    await inPage(() => { cluster.touch(cluster.pods[0], "Lonely"); cluster.load(); });
    const key = await inPage(() => cluster.pods[0]);
    await showsRows([key]);
    const running = (await drawn()).find(([title]) => title === "Running")[1];
    await inPage(() => cluster.touch(cluster.pods[0], "Running"));
    await until((rows) => [...document.querySelectorAll("[data-group]")].some((group) => group.textContent.includes("Running") && group.querySelector(".chip-count").textContent === String(rows)), running + 1);
    await group("Lonely").waitFor({ state: "detached" });
    await showsRows([]);
    assert.deepEqual(await params(), [["group", "Status"]]);
    await inPage(() => cluster.touch(cluster.pods[0], "Lonely"));
    await group("Lonely").waitFor();
    assert.equal(await group("Lonely").getAttribute("aria-expanded"), "false");
  });

  test("of no rows and of unknown columns are explained", async () => {
    await openGroups("group=Node&search=absent");
    await dashboard.page.getByText("No pods match").waitFor();
    await inPage(() => { location.hash = "#/v1/pods?group=Nod"; });
    await dashboard.get("query-error").getByText("did you mean Node?").waitFor();
    await dashboard.page.locator("#tools [data-menu=group]").click();
    await dashboard.page.locator("#tools").getByRole("checkbox", { name: "Nod", exact: true }).click();
    await dashboard.hasTotal(PODS);
    assert.equal(await dashboard.get("query-error").isVisible(), false);
    assert.deepEqual(await params(), []);
  });
});

/** Waits until the visible rows are loaded. */
const loaded = () => until(() => document.querySelectorAll("[data-testid=rows] > [data-key]").length > 20 && !document.querySelector("[data-testid=rows]").textContent.includes("Loading"));

/** Returns the visible lines and their positions. */
const visible = () => inPage(() => {
  const { top } = document.querySelector("#grid").getBoundingClientRect();
  const lines = [...document.querySelectorAll("[data-testid=rows] > *")];
  return lines.map((line) => [line.dataset.key ?? line.dataset.group, Math.round(line.getBoundingClientRect().top - top)]).filter(([, y]) => y >= 34 && y < 400);
});

/** Adds pods with names that precede all others. */
const addPods = (from, to, phase = "Running", deleted = "") => inPage(([from, to, phase, deleted]) => {
  if (deleted) cluster.delete("v1/pods", deleted);
  for (let i = from; i < to; i++) cluster.apply({ apiVersion: "v1", kind: "Pod", metadata: { name: `a-${String(i).padStart(3, "0")}`, namespace: "default" }, spec: { containers: [{ name: "main" }] }, status: { phase } });
}, [from, to, phase, deleted]);

test("the visible rows stay in place while rows are inserted and deleted above, and new rows appear at the top", async () => {
  await open({ pods: PODS, hash: "#/v1/pods?sort=name" });
  await dashboard.scrollTo(34 * 100 + 10);
  await until(() => document.querySelectorAll("[data-testid=rows] > [data-key]").length > 20);
  const before = await visible();
  assert.ok(before.length > 8);
  await addPods(0, 15);
  await dashboard.hasTotal(PODS + 15);
  assert.deepEqual(await visible(), before);
  assert.equal(await dashboard.get("grid").evaluate((grid) => grid.scrollTop), 34 * 115 + 10);
  await addPods(15, 515); // more rows than the window contains
  await dashboard.hasTotal(PODS + 515);
  assert.deepEqual(await visible(), before);
  assert.equal(await dashboard.get("grid").evaluate((grid) => grid.scrollTop), 34 * 615 + 10);
  await inPage(() => { for (let i = 0; i < 5; i++) cluster.delete("v1/pods", `default/a-00${i}`); });
  await dashboard.hasTotal(PODS + 510);
  assert.deepEqual(await visible(), before);
  await dashboard.scrollTo(0);
  await addPods(0, 1);
  await dashboard.hasTotal(PODS + 511);
  assert.equal((await dashboard.keys())[0], "default/a-000");
});

test("the visible lines of groups stay in place while more rows are inserted above than are loaded", async () => {
  const expanded = ["Failed", "Running"].map((status) => `&expand=${encodeURIComponent(JSON.stringify([status]))}`);
  await openGroups(`group=Status&sort=name${expanded.join("")}`);
  await dashboard.page.locator("[data-testid=rows] > [data-key]").first().waitFor();
  const lines = () => inPage(() => Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")));
  const hasLines = (count) => until((count) => Number(document.querySelector("[role=treegrid]").getAttribute("aria-rowcount")) === count, count);
  const all = await lines();
  await dashboard.scrollTo(34 * 200 + 10);
  await loaded();
  const before = await visible();
  assert.ok(before.length > 8);
  await addPods(0, 400); // above, in the same group
  await hasLines(all + 400);
  await loaded();
  assert.deepEqual(await visible(), before);
  await addPods(400, 800, "Failed"); // above, in a group before it
  await hasLines(all + 800);
  await loaded();
  assert.deepEqual(await visible(), before);
  // In one step, the test deletes the line to which the window is anchored, and inserts more pods.
  await addPods(800, 1200, "Running", before[0][0]);
  await hasLines(all + 1199);
  await loaded();
  const after = await visible();
  assert.deepEqual(after.slice(1), before.slice(1));
  await addPods(1200, 1600);
  await hasLines(all + 1599);
  await loaded();
  assert.deepEqual(await visible(), after);
});

test("a visible row of a group that moves up takes no other line with it", async () => {
  await openGroups(`group=namespace&sort=-Restarts&expand=${encodeURIComponent('["default"]')}`, { pods: 1000 });
  await dashboard.page.locator("[data-testid=rows] > [data-key]").first().waitFor();
  await dashboard.scrollTo(34 * 40 + 10);
  await loaded();
  for (const moved of [5, 0]) { // index 0 is the topmost line, to which the window is anchored
    const before = await visible();
    const keys = before.map(([key]) => key);
    const [key] = keys.splice(moved, 1);
    await inPage(async (key) => { // moves the row 20 lines up, to a position that is loaded
      const restarts = (pod) => pod.status.containerStatuses[0].restartCount;
      const { items } = await watchglassDashboard.collection.list();
      const own = items.find(({ metadata }) => `${metadata.namespace}/${metadata.name}` === key);
      const more = items.filter((pod) => pod.metadata.namespace === "default" && restarts(pod) > restarts(own)).map(restarts).sort((a, b) => a - b);
      cluster.update("v1/pods", key, ({ status }) => { status.containerStatuses[0].restartCount = more[20]; });
    }, key);
    await until((key) => {
      const row = document.querySelector(`[data-key="${key}"]`);
      return !row || row.getBoundingClientRect().top < document.querySelector("#grid").getBoundingClientRect().top;
    }, key);
    const first = moved === 0 ? 1 : 0; // if the topmost line has moved, the line above is now at the top
    assert.deepEqual((await visible()).map(([key]) => key).slice(first, first + keys.length), keys);
  }
  await dashboard.scrollTo(34 * 31 + 10);
  await loaded();
});

// Tests of the search, conditions, facets and sort orders of the page, in a real browser.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PODS, dashboard, inPage, open, until } from "./support/harness.mjs";
import { VIEWPORT } from "./support/page.mjs";

const MANY = 50_000;

const total = () => inPage(() => Number(document.querySelector("#range").dataset.total));
const isNarrowed = (all = PODS) => until((all) => {
  const { total } = document.querySelector("#range").dataset;
  return Number(total) > 0 && Number(total) < all;
}, all);
const type = async (input, text) => {
  await dashboard.get(input).focus();
  await dashboard.page.keyboard.type(text);
};
const press = async (...keys) => {
  for (const key of keys) await dashboard.page.keyboard.press(key);
  await dashboard.frames();
};
const focused = () => inPage(() => document.activeElement.id);
const urlHas = (text) => until((text) => decodeURIComponent(location.hash.replaceAll("+", " ")).includes(text), text);

/** Returns the number of pods for which a condition holds, computed from the objects. */
const countPods = (condition) => inPage(async (condition) => {
  const { items } = await watchglassDashboard.collection.list();
  return items.filter(new Function("pod", `return ${condition}`)).length;
}, condition);

describe("search", () => {
  test("filters the rows while the user types, and marks the matches", async () => {
    await open();
    await type("search", "PAY web");
    await isNarrowed();
    await urlHas("search=PAY web");
    await dashboard.page.locator("[data-testid=rows] mark").first().waitFor();
    const rows = await dashboard.rows.evaluateAll((rows) => rows.map((row) => ({
      text: row.textContent, marks: [...row.querySelectorAll("mark")].map((mark) => mark.textContent),
    })));
    assert.ok(rows.length);
    for (const { text, marks } of rows) {
      assert.match(text, /pay/i);
      assert.match(text, /web/);
      assert.deepEqual([...new Set(marks)].sort(), ["pay", "web"]);
    }
    await dashboard.get("search").fill("");
    await dashboard.hasTotal(PODS);
    assert.equal(await dashboard.page.locator("[data-testid=rows] mark").count(), 0);
  });

  test("a label is found as key=value", async () => {
    await open({ hash: "#/v1/pods?search=tier%3Ddata" });
    await isNarrowed();
    const chip = dashboard.page.locator(".label[data-label=tier]").first();
    assert.equal(await chip.textContent(), "tier=data");
    assert.equal((await chip.locator("mark").allTextContents()).join(""), "tier=data");
    assert.equal(await chip.locator(".label-key").textContent(), "tier");
  });

  test("a slash focuses it, Escape clears it and then returns to the table", async () => {
    await open();
    await press("/");
    assert.equal(await focused(), "search");
    await dashboard.page.keyboard.type("web");
    await isNarrowed();
    await press("Escape");
    await dashboard.hasTotal(PODS);
    assert.equal(await dashboard.get("search").inputValue(), "");
    assert.equal(await focused(), "search");
    await press("Escape");
    assert.equal(await focused(), "grid");
    await press("ArrowDown", "ArrowDown");
    assert.equal(await dashboard.page.locator(".row.active").getAttribute("aria-rowindex"), "4"); // receiving the focus has activated the first row, so this is the third
  });

  // The applied search has no space at the end, but the input keeps it.
  test("a pause after a space does not join the words", async () => {
    await open();
    await type("search", "pay ");
    await urlHas("search=pay");
    await isNarrowed();
    await dashboard.page.keyboard.type("web");
    await urlHas("search=pay web");
  });

  test("text that is still being typed is not lost when something else changes", async () => {
    await open();
    await dashboard.get("search").fill("web");
    await inPage(() => document.querySelector("#wide").click()); // immediately, before the search applies
    await urlHas("search=web");
    assert.equal(await dashboard.get("search").inputValue(), "web");
    await isNarrowed();
  });
});

describe("where", () => {
  test("filters by a condition", async () => {
    await open();
    await type("where", "restarts > 3 and status.phase = Running");
    const want = await countPods(`pod.status.containerStatuses[0].restartCount > 3 && pod.status.phase === "Running"`);
    await dashboard.hasTotal(want);
    assert.ok((await dashboard.column("Restarts")).every((text) => Number(text) > 3));
  });

  test("shows the engine's error while the user types, and keeps the rows in place", async () => {
    await open();
    await dashboard.get("where").fill("restarts > 3");
    await isNarrowed();
    const before = [await total(), await dashboard.get("grid").boundingBox(), await dashboard.get("chips").boundingBox()];
    await type("where", " and statsu = x");
    const error = dashboard.get("query-error");
    await error.getByText('at offset 17: "statsu": there is no such column or field; did you mean Status?').waitFor();
    await error.locator("mark").getByText("statsu = x", { exact: true }).waitFor(); // the mark changes when the last key has been processed
    assert.equal(await dashboard.get("where").getAttribute("aria-invalid"), "true");
    assert.equal(await dashboard.get("search").getAttribute("aria-invalid"), "false");
    assert.deepEqual([await total(), await dashboard.get("grid").boundingBox(), await dashboard.get("chips").boundingBox()], before);
    await dashboard.get("where").fill("restarts > 3 and not ready");
    await error.waitFor({ state: "hidden" });
  });

  for (const [input, text, message] of [
    ["where", ")(", /at offset 0: expected a column, a field/],
    ["where", 'name = "open', /the quote is not closed/],
    ["where", "a".repeat(5000), /condition is longer than 4096 bytes/],
    ["where", "(".repeat(40), /nested more than 32 times/],
    ["search", "a ".repeat(31), /search has more than 30 words/],
    ["label-selector", ",,(", /label selector/],
    ["field-selector", "spec.nodeName", /field selector/],
  ]) test(`invalid input in ${input} is refused: ${text.slice(0, 12)}`, async () => {
    await open();
    await dashboard.get(input).fill(text);
    await dashboard.get("query-error").waitFor();
    assert.match(await dashboard.get("query-error").textContent(), message);
    assert.equal(await dashboard.get(input).getAttribute("aria-invalid"), "true");
    assert.equal(await total(), PODS);
    await dashboard.get("clear").click();
    await dashboard.get("query-error").waitFor({ state: "hidden" });
    assert.equal(await dashboard.get(input).inputValue(), "");
  });

  // If the text were inserted between parentheses without a check, "(ready) or (restarts > 3)"
  // would be valid, but would select other objects.
  test("parentheses cannot enclose the chosen facets", async () => {
    await open({ hash: "#/v1/pods?facet.Status=Failed" });
    await isNarrowed();
    const before = await total();
    await dashboard.get("where").fill("ready) or (restarts > 3");
    await dashboard.get("query-error").getByText("at offset 5: expected").waitFor();
    assert.equal(await dashboard.get("query-error").locator("mark").textContent(), ") or (restarts > 3");
    assert.equal(await total(), before);
  });
});

describe("facets", () => {
  const counts = (box) => dashboard.page.locator(box).evaluateAll((entries) => Object.fromEntries(
    entries.map((entry) => [entry.dataset.facet, Number(entry.querySelector(".chip-count").textContent.replaceAll(",", ""))]),
  ));
  const openMenu = (name) => dashboard.page.locator(`[data-menu="${name}"]`).click();
  const choose = (value) => dashboard.page.locator(`.menu-panel:not([hidden]) [data-facet="${value}"] input`).click();

  test("count by several columns, and clicks choose several values", async () => {
    await open();
    const statuses = await counts(".chip");
    await dashboard.page.locator(".chip[data-facet=Failed]").click();
    await dashboard.hasTotal(statuses.Failed);
    await dashboard.page.locator(".chip[data-facet=Pending]").click();
    await dashboard.hasTotal(statuses.Failed + statuses.Pending);
    assert.deepEqual(await counts(".chip"), statuses, "its own choice does not change the counts");
    await openMenu("namespace");
    const namespaces = await counts(".menu-panel:not([hidden]) .menu-line");
    assert.equal(Object.values(namespaces).reduce((a, b) => a + b), statuses.Failed + statuses.Pending);
    await choose("payments");
    await dashboard.hasTotal(namespaces.payments);
    await choose("web");
    await dashboard.hasTotal(namespaces.payments + namespaces.web);
    assert.deepEqual([...new Set(await dashboard.column("Namespace"))].filter((name) => !["payments", "web"].includes(name)), []);
    assert.equal(await dashboard.page.locator("[data-menu=namespace] .menu-chosen").textContent(), "2");
    await choose("web");
    await dashboard.hasTotal(namespaces.payments);
    await dashboard.get("facet-clear").click();
    await dashboard.hasTotal(PODS);
    assert.doesNotMatch(dashboard.page.url(), /facet/);
  });

  test("menus work by keyboard, and close by Escape and by a click elsewhere", async () => {
    await open();
    await dashboard.page.locator("[data-menu=Node]").focus();
    await press("Enter", "ArrowDown", "ArrowDown", "Space");
    await isNarrowed();
    const chosen = await inPage(() => document.activeElement.closest("[data-facet]").dataset.facet);
    await urlHas(`facet.Node=${chosen}`);
    await press("Escape");
    assert.equal(await dashboard.page.locator(".menu-panel:not([hidden])").count(), 0);
    assert.equal(await inPage(() => document.activeElement.dataset.menu), "Node");
    await openMenu("namespace");
    await dashboard.get("range").click();
    assert.equal(await dashboard.page.locator(".menu-panel:not([hidden])").count(), 0);
  });

  test("follow the objects", async () => {
    await open({ hash: "#/v1/pods?facet.Status=Failed" });
    await isNarrowed();
    const before = await counts(".chip");
    await inPage(async () => {
      const { items } = await watchglassDashboard.collection.list();
      const { metadata } = items.find(({ status }) => status.phase === "Running");
      cluster.touch(`${metadata.namespace}/${metadata.name}`, "Failed");
    });
    await dashboard.hasTotal(before.Failed + 1);
    await until((n) => Number(document.querySelector(".chip[data-facet=Running] .chip-count").textContent) === n, before.Running - 1);
  });

  test("a chosen value that no object has stays, and can be removed", async () => {
    await open({ hash: "#/v1/pods?facet.Status=Gone" });
    await dashboard.page.getByText("No pods match").waitFor();
    const chip = dashboard.page.locator(".chip[data-facet=Gone]");
    assert.equal(await chip.getAttribute("aria-pressed"), "true");
    await chip.click();
    await dashboard.hasTotal(PODS);
    assert.equal(await chip.count(), 0);
  });

  test("a chosen value is visible on a narrow page", async () => {
    await open({ hash: "#/v1/pods?facet.Status=Succeeded", viewport: { width: 400, height: 760 } });
    await isNarrowed();
    const box = await dashboard.page.locator(".chip[data-facet=Succeeded]").boundingBox();
    assert.ok(box.x >= 0 && box.x + box.width <= 400, JSON.stringify(box));
  });

  test("an unknown facet in a link is an error, and can be cleared", async () => {
    await open({ hash: "#/v1/pods?facet.Stauts=Failed" });
    await dashboard.get("query-error").getByText("did you mean Status?").waitFor();
    await dashboard.get("facet-clear").click();
    await dashboard.hasTotal(PODS);
    assert.equal(await dashboard.get("query-error").isVisible(), false);
  });
});

describe("sort by several columns", () => {
  const sorted = (by, direction) => dashboard.page.locator(`[role=columnheader][aria-sort=${direction}]:has([data-sort="${by}"])`).waitFor();
  const rows = async () => {
    const [restarts, names] = [await dashboard.column("Restarts"), await dashboard.column("Name")];
    return restarts.map((text, i) => [Number(text), names[i]]);
  };

  test("shift-click adds a key, and a click replaces them", async () => {
    await open();
    await dashboard.sortBy("Restarts");
    await sorted("Restarts", "ascending");
    await dashboard.sortBy("Restarts");
    await sorted("Restarts", "descending");
    assert.equal(await dashboard.page.locator("[data-order]").count(), 0);
    await dashboard.page.locator("[data-sort=name]").click({ modifiers: ["Shift"] });
    await sorted("name", "ascending");
    await urlHas("sort=-Restarts, name");
    await dashboard.frames();
    const natural = new Intl.Collator("en", { numeric: true });
    const got = await rows();
    assert.ok(got[0][0] > got.at(-1)[0]);
    assert.deepEqual(got, [...got].sort((a, b) => b[0] - a[0] || natural.compare(a[1], b[1])));
    assert.equal(await dashboard.page.locator("[data-sort=Restarts]").getAttribute("data-order"), "1");
    assert.equal(await dashboard.page.locator("[data-sort=name]").getAttribute("data-order"), "2");
    await dashboard.sortBy("Age");
    await sorted("Age", "ascending");
    await sorted("Restarts", "none");
  });

  test("works from the keyboard, and shift with Enter adds", async () => {
    await open();
    await dashboard.page.locator("[data-sort=Status]").focus();
    await press("Enter");
    await sorted("Status", "ascending");
    await dashboard.page.locator("[data-sort=Age]").focus();
    await press("Shift+Enter");
    await sorted("Age", "ascending");
    await sorted("Status", "ascending");
  });

  test("ascending ages start with the youngest", async () => {
    await open();
    await dashboard.sortBy("Age");
    await sorted("Age", "ascending");
    await dashboard.frames();
    const created = await inPage(() => watchglassDashboard.snapshot.rows.map(({ cells }) => cells.Age));
    assert.deepEqual(created, [...created].sort((a, b) => b - a));
  });

  test("an unknown column in a link is an error, and can be cleared", async () => {
    await open({ hash: "#/v1/pods?sort=-restrats" });
    await dashboard.get("query-error").getByText("did you mean Restarts?").waitFor();
    await dashboard.get("overlay").getByRole("button", { name: "Clear filters" }).click();
    await dashboard.hasTotal(PODS);
    assert.doesNotMatch(dashboard.page.url(), /sort/);
  });
});

describe("a query", () => {
  const HASH = "#/v1/pods?search=web&where=restarts+%3E+3&sort=-Restarts%2C+name&facet.Status=Running&wide=";

  test("is shared by the URL", async () => {
    await open({ hash: HASH });
    await isNarrowed();
    const [url, keys, matching] = [dashboard.page.url(), await dashboard.keys(), await total()];
    await dashboard.page.goto("about:blank");
    await dashboard.page.goto(url);
    await dashboard.hasTotal(matching);
    assert.deepEqual(await dashboard.keys(), keys);
    assert.equal(await dashboard.get("search").inputValue(), "web");
    assert.equal(await dashboard.get("where").inputValue(), "restarts > 3");
    assert.equal(await dashboard.page.locator(".chip[data-facet=Running]").getAttribute("aria-pressed"), "true");
    assert.equal(await dashboard.page.locator("[data-sort=Restarts]").getAttribute("data-order"), "1");
  });

  test("without matches shows a message and is cleared with one click", async () => {
    await open({ hash: HASH.replace("search=web", "search=nothing-has-this") });
    await dashboard.page.getByText("No pods match").waitFor();
    await dashboard.get("overlay").getByRole("button", { name: "Clear filters" }).click();
    await dashboard.hasTotal(PODS);
    for (const input of ["search", "where"]) assert.equal(await dashboard.get(input).inputValue(), "");
    assert.match(dashboard.page.url(), /sort=-Restarts/, "the order is no filter");
  });

  test("survives a lost connection, and can change meanwhile", async () => {
    await open({ hash: "#/v1/pods?search=web" });
    await isNarrowed();
    const keys = await dashboard.keys();
    await inPage(() => cluster.cut());
    await dashboard.state("reconnecting");
    assert.deepEqual((await dashboard.keys()).slice(0, 5), keys.slice(0, 5));
    const before = await total();
    await dashboard.get("where").fill("restarts > 3");
    await until((before) => Number(document.querySelector("#range").dataset.total) < before, before);
    const during = await total();
    await inPage(() => {
      const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web-new", namespace: "default" }, spec: { containers: [{ name: "main" }] } };
      cluster.apply({ ...pod, status: { phase: "Running", containerStatuses: [{ name: "main", restartCount: 100 }] } });
      cluster.restore();
    });
    await inPage(() => document.querySelector("#reconnect").click()); // the button is hidden if the page has already reconnected
    await dashboard.state("live");
    await dashboard.hasTotal(during + 1);
  });

  test("keeps only its search for another resource", async () => {
    await open({ hash: HASH.replace("search=web", "search=node-11") });
    await dashboard.get("resource").selectOption("v1/nodes");
    await dashboard.hasTotal(11); // node-11 and node-110 to node-119
    assert.equal(await dashboard.get("search").inputValue(), "node-11");
    assert.equal(await dashboard.get("where").inputValue(), "");
    assert.equal(await dashboard.get("query-error").isVisible(), false);
    assert.deepEqual(await dashboard.page.locator("#facet-menus [data-menu]").evaluateAll((menus) => menus.map(({ dataset }) => dataset.menu)), ["Status", "Roles", "Version", "OS-Image"]);
    await dashboard.page.goBack();
    await until(() => document.querySelector("#where").value === "restarts > 3");
  });

  test("with columns of another resource is an error that can be repaired", async () => {
    await open({ hash: "#/v1/nodes?where=restarts+%3E+3&facet.Phase=x&sort=Restarts" });
    await dashboard.get("query-error").getByText('"restarts": there is no such column or field').waitFor();
    await dashboard.page.getByText("This query was not accepted").waitFor();
    await dashboard.get("overlay").getByRole("button", { name: "Clear filters" }).click();
    await dashboard.hasTotal(120);
    assert.equal(await dashboard.get("query-error").isVisible(), false);
  });

  test("works with 50,000 pods", async () => {
    await open({ pods: MANY });
    await dashboard.hasTotal(MANY);
    await type("search", "pay");
    await isNarrowed(MANY);
    await dashboard.get("where").fill("restarts > 3 and age < 20d");
    const want = await countPods(`/pay/.test([pod.metadata.name, pod.metadata.namespace, ...Object.values(pod.metadata.labels)].join())
      && pod.status.containerStatuses[0].restartCount > 3 && Date.now() - Date.parse(pod.metadata.creationTimestamp) < 20 * 86_400_000`);
    await dashboard.hasTotal(want);
    assert.ok((await dashboard.rows.count()) < 40);
  });

  for (const width of [400, 700, 1400]) test(`fits ${width} pixels`, async () => {
    await open({ hash: HASH, viewport: { width, height: 760 } });
    await isNarrowed();
    const heights = () => inPage(() => [document.documentElement.scrollWidth, document.querySelector("#grid").getBoundingClientRect().top]);
    const before = await heights();
    assert.equal(before[0], width);
    await dashboard.get("clear").click();
    await dashboard.hasTotal(PODS);
    await dashboard.page.locator("[data-menu=Node]").click();
    const panel = await dashboard.page.locator(".menu-panel:not([hidden])").boundingBox();
    assert.ok(panel.x >= 0 && panel.x + panel.width <= width, JSON.stringify(panel));
    assert.deepEqual(await heights(), before, "the table stays in place");
  });
});

// Extensions and tests dispatch events on the document and on the window.
test("a key event without an element as its target is handled", async () => {
  await open();
  await inPage(() => {
    for (const target of [document, window]) target.dispatchEvent(new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true }));
  });
  assert.equal(await focused(), "search");
});

// The question: which pods in three namespaces have a name that contains "pay" and restarted more
// than three times? The answer is sorted by node, and then by age, the newest first.
test("a link answers a question with several conditions in one screen", async () => {
  const namespaces = ["shop-asia", "shop-eu", "shop-us"];
  const params = new URLSearchParams({ search: "pay", where: "restarts > 3", sort: "Node, Age" });
  for (const name of namespaces) params.append("facet.namespace", name);
  for (const title of ["Namespace", "Node", "Restarts", "Status", "Age"]) params.append("column", title);
  await open({ hash: `#/v1/pods?${params}` });
  const pods = [...namespaces, "shop-test"].flatMap((namespace, n) => Array.from({ length: 14 }, (_, i) => ({
    namespace, name: `${["pay", "payroll", "cart", "mail"][i % 4]}-${i}`, restarts: (i * 5 + n) % 9, node: `node-${[2, 10, 1][(i + n) % 3]}`, hours: (i * 7 + n * 5) % 50 + 1,
  })));
  await inPage((pods) => {
    for (const { namespace, name, restarts, node, hours } of pods) cluster.apply({
      apiVersion: "v1", kind: "Pod",
      metadata: { name, namespace, creationTimestamp: new Date(Date.now() - hours * 3_600_000).toISOString().replace(/\.\d+/, "") },
      spec: { nodeName: node, containers: [{ name: "main" }] },
      status: { phase: "Running", containerStatuses: [{ name: "main", ready: true, restartCount: restarts, state: { running: {} } }] },
    });
  }, pods);
  const number = ({ node }) => Number(node.slice("node-".length));
  const answer = (pods) => pods
    .filter(({ namespace, name, restarts }) => namespaces.includes(namespace) && name.includes("pay") && restarts > 3)
    .sort((a, b) => number(a) - number(b) || a.hours - b.hours || (`${a.namespace}/${a.name}` < `${b.namespace}/${b.name}` ? -1 : 1))
    .map(({ namespace, name }) => `${namespace}/${name}`);
  const expected = answer(pods);
  assert.ok(expected.length > 9 && expected.length < 14, `${expected.length} pods`);
  const shows = async (expected) => {
    await dashboard.hasTotal(expected.length);
    assert.deepEqual(await dashboard.keys(), expected);
  };
  await shows(expected);
  assert.equal(await inPage(() => document.querySelector("#grid").scrollHeight <= document.querySelector("#grid").clientHeight), true, "nothing is below the screen");
  assert.deepEqual(await dashboard.page.locator("[role=columnheader]").allTextContents(), ["Name", "Namespace", "Status", "Restarts", "Node", "Age"]);
  assert.deepEqual([await dashboard.get("search").inputValue(), await dashboard.get("where").inputValue()], ["pay", "restarts > 3"]);
  assert.equal(await dashboard.page.locator("[aria-sort=ascending]").count(), 2);
  assert.equal(await dashboard.page.locator("[data-testid=rows] mark").count(), expected.length, "every name has the word");
  const byNode = await dashboard.page.locator(".menu:has([data-menu=Node]) .menu-line").evaluateAll((lines) => lines.map((line) => line.textContent));
  assert.deepEqual(byNode, ["node-1", "node-2", "node-10"].map((node) => `${node}${pods.filter((pod) => pod.node === node && expected.includes(`${pod.namespace}/${pod.name}`)).length}`));

  pods.find(({ namespace, name }) => `${namespace}/${name}` === "shop-eu/pay-0").restarts = 40;
  await inPage(() => cluster.update("v1/pods", "shop-eu/pay-0", ({ status }) => { status.containerStatuses[0].restartCount = 40; }));
  await shows(answer(pods));

  await dashboard.page.setViewportSize({ width: 1440, height: 900 }); // the size of a laptop's screen
  params.set("sort", "Age");
  params.append("group", "Node");
  for (const node of ["node-1", "node-2", "node-10"]) params.append("expand", JSON.stringify([node]));
  await inPage((hash) => { location.hash = hash; }, `#/v1/pods?${params}`);
  await until((rows) => document.querySelectorAll("[data-group]").length === 3 && document.querySelectorAll("[data-testid=rows] > [data-key]").length === rows, answer(pods).length);
  await shows(answer(pods));
  const inGroup = (node) => pods.filter((pod) => pod.node === node && answer(pods).includes(`${pod.namespace}/${pod.name}`));
  const groups = dashboard.page.locator("[data-group]");
  assert.deepEqual(await groups.evaluateAll((all) => all.map((group) => [".group-title", ".chip-count", ".group-numbers"].map((part) => group.querySelector(part).textContent.split("  ")[0]))),
    ["node-1", "node-2", "node-10"].map((node) => {
      const restarts = inGroup(node).map((pod) => pod.restarts);
      return [node, `${restarts.length}`, `Restarts ${restarts.reduce((a, b) => a + b)} (${Math.min(...restarts)} to ${Math.max(...restarts)})`];
    }));
  assert.equal(await dashboard.page.locator("[data-testid=rows] mark").count(), answer(pods).length);
  assert.equal(await inPage(() => document.querySelector("#grid").scrollHeight <= document.querySelector("#grid").clientHeight), true, "nothing is below the screen");
  await dashboard.page.setViewportSize(VIEWPORT);
});

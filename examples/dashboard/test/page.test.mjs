// Tests of the page in a real browser, with a cluster in the page's memory (test/cluster).
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { PODS, dashboard, inPage, open, until } from "./support/harness.mjs";

const MANY = 10_000;

describe("table", () => {
  test("draws only the visible rows of 10,000", async () => {
    await open({ pods: MANY });
    await dashboard.hasTotal(MANY);
    const bounded = async () => assert.ok((await dashboard.rows.count()) < 40, `${await dashboard.rows.count()} rows in the document`);
    await bounded();
    await dashboard.scrollTo(5000 * 34);
    await until(() => document.querySelector("[data-key][aria-rowindex='5002']"));
    await bounded();
    assert.equal(await dashboard.get("grid").getAttribute("aria-rowcount"), String(MANY + 1));
    assert.match(await dashboard.get("range").textContent(), /^Showing 5,001–5,0\d\d of 10,000 pods$/);
    const keys = await dashboard.keys();
    assert.deepEqual(keys, [...keys].sort(), "rows are in reading order");
  });

  test("shows the columns of kubectl, and more when wide", async () => {
    await open();
    const titles = () => dashboard.page.locator("[role=columnheader]").allTextContents();
    assert.deepEqual(await titles(), ["Name", "Namespace", "Ready", "Status", "Restarts", "Age", "Labels"]);
    await dashboard.get("wide").click();
    await dashboard.frames();
    assert.deepEqual(await titles(), ["Name", "Namespace", "Ready", "Status", "Restarts", "IP", "Node", "Nominated Node", "Readiness Gates", "Age", "Labels"]);
    assert.ok(await dashboard.rows.count());
  });

  test("offers no wide columns where there are none", async () => {
    await open({ hash: "#/v1/configmaps" });
    await dashboard.hasTotal(30);
    assert.equal(await dashboard.get("wide").isVisible(), false);
  });

  test("has room for the longest common status", async () => {
    await open({ viewport: { width: 1280, height: 800 } });
    const key = (await dashboard.keys())[0];
    await inPage((key) => cluster.touch(key, "CrashLoopBackOff"), key);
    const status = dashboard.page.locator(`[data-key="${key}"] .status`).filter({ hasText: "CrashLoopBackOff" });
    await status.waitFor();
    assert.equal(await status.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth), 0);
  });

  test("sorts by a click on a header", async () => {
    await open();
    const restarts = async () => (await dashboard.column("Restarts")).map(Number);
    await dashboard.sortBy("Restarts");
    await dashboard.sortBy("Restarts");
    await until(() => document.querySelector("[role=columnheader][aria-sort=descending]"));
    await dashboard.frames();
    const sorted = await restarts();
    assert.deepEqual(sorted, [...sorted].sort((a, b) => b - a));
    assert.ok(sorted[0] > 0);
    await dashboard.sortBy("Restarts");
    await until(() => !document.querySelector("[aria-sort=descending]"));
  });

  test("keeps an element per object and writes only changes", async () => {
    await open();
    const key = (await dashboard.keys())[3];
    await inPage((key) => { document.querySelector(`[data-key="${key}"]`).marked = true; cluster.touch(key, "Failed"); }, key);
    await until((key) => document.querySelector(`[data-key="${key}"] .status`).textContent === "Failed", key);
    assert.equal(await inPage((key) => document.querySelector(`[data-key="${key}"]`).marked, key), true);
    assert.equal(await inPage((key) => Boolean(document.querySelector(`[data-key="${key}"] .status`).dataset.flash), key), true);
    await inPage((key) => cluster.delete("v1/pods", key), key);
    await until((key) => !document.querySelector(`[data-key="${key}"]`), key);
    await dashboard.hasTotal(PODS - 1);
  });

  test("writes at most once a frame", async () => {
    await open();
    const passes = await inPage(async () => {
      let records = 0, frames = 0, running = true;
      new MutationObserver(() => records++).observe(document.querySelector("[data-testid=rows]"), { subtree: true, childList: true, characterData: true });
      const count = () => { frames++; if (running) requestAnimationFrame(count); };
      requestAnimationFrame(count);
      cluster.churn(5000);
      await new Promise((done) => setTimeout(done, 1500));
      running = false;
      cluster.churn(0);
      return { records, frames };
    });
    assert.ok(passes.records > 0 && passes.records <= passes.frames + 2, JSON.stringify(passes)); // the updates of ages cause further records
  });
});

describe("keyboard", () => {
  const active = () => inPage(() => {
    const id = document.querySelector("[role=grid]").getAttribute("aria-activedescendant");
    return Number(document.getElementById(id)?.getAttribute("aria-rowindex")) - 2;
  });
  const press = async (...keys) => {
    for (const key of keys) await dashboard.page.keyboard.press(key);
    await dashboard.frames();
  };

  test("moves through the rows, opens one, and closes it", async () => {
    await open();
    await dashboard.get("grid").focus();
    await press("Home", "ArrowDown", "ArrowDown", "ArrowUp");
    assert.equal(await active(), 1);
    await press("PageDown");
    assert.ok((await active()) > 10);
    await press("End");
    await until((last) => document.querySelector(`[aria-rowindex="${last}"].active`), PODS + 1);
    await press("Home");
    await until(() => document.querySelector("[aria-rowindex='2'].active"));
    await press("Enter");
    const key = (await dashboard.keys())[0];
    await until((key) => document.querySelector("#detail-title").textContent === key, key);
    assert.equal(await inPage(() => document.activeElement.id), "detail");
    await press("Escape");
    assert.equal(await dashboard.get("detail").isVisible(), false);
    assert.equal(await inPage(() => document.activeElement.id), "grid");
  });

  test("i opens the inspector, and i or Escape closes it", async () => {
    await open();
    await dashboard.get("grid").focus();
    for (const key of ["i", "Escape"]) {
      await press("i");
      await dashboard.page.getByRole("tab", { name: "Collections 1", selected: true }).waitFor();
      assert.equal(await inPage(() => document.activeElement.localName), "watchglass-inspector");
      await dashboard.page.getByRole("row").filter({ hasText: /^v1\/podsrowsFirst, columns=CPU,Memorylive/ }).waitFor();
      await press(key);
      assert.equal(await dashboard.page.locator("watchglass-inspector").count(), 0);
      assert.equal(await inPage(() => document.activeElement.id), "grid");
    }
    await dashboard.get("label-selector").focus();
    await press("i");
    assert.equal(await dashboard.page.locator("watchglass-inspector").count(), 0);
  });

  test("the inspector returns the focus to the open object, unless the focus is elsewhere", async () => {
    await open();
    await dashboard.rows.nth(1).click({ position: { x: 40, y: 10 } });
    await until(() => document.activeElement.id === "detail");
    await press("i", "Escape");
    assert.equal(await dashboard.page.locator("watchglass-inspector").count(), 0);
    assert.equal(await inPage(() => document.activeElement.id), "detail");
    assert.equal(await dashboard.get("detail").isVisible(), true);
    await press("i");
    await dashboard.get("grid").focus();
    await press("i");
    assert.equal(await dashboard.page.locator("watchglass-inspector").count(), 0);
    assert.equal(await inPage(() => document.activeElement.id), "grid");
  });

  test("the inspector fits a narrow page", async () => {
    await open({ viewport: { width: 400, height: 800 } });
    await press("i", "End"); // the last tab is Events
    const clear = dashboard.page.locator("watchglass-inspector").getByRole("button", { name: "Clear" });
    await clear.waitFor();
    const { x, width } = await clear.boundingBox();
    assert.ok(x + width <= 400, `the button ends at ${x + width}`);
    await press("Escape");
    assert.equal(await inPage(() => document.activeElement.id), "grid");
  });

  test("the inspector leaves room for the message of an error", async () => {
    await open();
    await inPage(() => cluster.deny("v1/secrets"));
    await dashboard.get("resource").selectOption("v1/secrets");
    const way = dashboard.page.getByRole("button", { name: "Show pods" });
    await way.waitFor();
    await press("Escape", "i");
    await dashboard.page.locator("watchglass-inspector").getByRole("row").filter({ hasText: "v1/secrets" }).waitFor();
    await dashboard.frames();
    const bottom = async (locator) => locator.evaluate((element) => element.getBoundingClientRect().bottom);
    assert.ok((await bottom(way)) <= (await bottom(dashboard.get("overlay"))));
  });

  test("a slash goes to the search, Escape comes back", async () => {
    await open();
    await press("/");
    assert.equal(await inPage(() => document.activeElement.id), "search");
    await press("Escape");
    assert.equal(await inPage(() => document.activeElement.id), "grid");
  });

  test("sorts from the header", async () => {
    await open();
    await dashboard.page.locator("[data-sort=name]").focus();
    await press("Enter");
    await until(() => document.querySelector("[aria-sort=ascending]"));
  });
});

describe("selectors", () => {
  test("apply while the user types", async () => {
    await open();
    await dashboard.get("label-selector").fill("app=web, tier in (data, backend)");
    await until((all) => Number(document.querySelector("#range").dataset.total) < all, PODS);
    await dashboard.columnMatches("Labels", /app=web/);
    assert.ok((await dashboard.total()) > 0);
    await dashboard.get("clear").click();
    await dashboard.hasTotal(PODS);
  });

  test("the engine's error is shown, the rows stay", async () => {
    await open();
    await dashboard.get("label-selector").fill("app=web");
    await until((all) => Number(document.querySelector("#range").dataset.total) < all, PODS);
    const total = await dashboard.total();
    await dashboard.get("label-selector").fill("app web");
    await dashboard.get("label-selector").press("Enter");
    await dashboard.get("query-error").waitFor();
    assert.match(await dashboard.get("query-error").textContent(), /label selector "app web": at offset 4: expected one of/);
    assert.equal(await dashboard.get("query-error").locator("mark").textContent(), "web");
    assert.equal(await dashboard.get("label-selector").getAttribute("aria-invalid"), "true");
    assert.equal(await dashboard.total(), total);
    assert.ok(await dashboard.rows.count());
    await dashboard.get("label-selector").fill("app=web");
    await dashboard.get("query-error").waitFor({ state: "hidden" });
  });

  test("a field that the resource does not have is refused", async () => {
    await open();
    await dashboard.get("field-selector").fill("spec.node=x");
    await dashboard.get("query-error").waitFor();
    assert.match(await dashboard.get("query-error").textContent(), /unknown field "spec.node"/);
    assert.equal(await dashboard.get("field-selector").getAttribute("aria-invalid"), "true");
  });

  // The header shows the order of the visible rows, not that of a refused query.
  test("a header does not show an order that was refused with its query", async () => {
    await open();
    await dashboard.get("field-selector").fill("spec.node=x");
    await dashboard.get("query-error").waitFor();
    await dashboard.page.getByRole("button", { name: "Restarts" }).click();
    await dashboard.get("wide").click();
    await dashboard.frames();
    assert.equal(await dashboard.page.locator("[role=columnheader]:not([aria-sort=none])").count(), 0);
    await dashboard.get("field-selector").fill("");
    await dashboard.page.locator("[aria-sort=ascending]").getByText("Restarts").waitFor();
  });

  test("a link with an invalid selector shows the error and can be repaired", async () => {
    await open({ hash: "#/v1/pods?labelSelector=app+web" });
    await dashboard.get("query-error").waitFor();
    assert.equal(await dashboard.rows.count(), 0);
    await dashboard.get("label-selector").fill("app=web");
    await until(() => Number(document.querySelector("#range").dataset.total) > 0);
  });

  test("a click on a label selects it", async () => {
    await open();
    await dashboard.page.locator(".label[data-label=app]").first().click();
    await until((all) => Number(document.querySelector("#range").dataset.total) < all, PODS);
    assert.match(await dashboard.get("label-selector").inputValue(), /^app=/);
    assert.equal(await dashboard.get("detail").isVisible(), false);
  });

  test("a query without matches shows a message and can be cleared", async () => {
    await open({ hash: "#/v1/pods?labelSelector=app%3Dnone&namespace=web" });
    await dashboard.page.getByText("No pods match").waitFor();
    await dashboard.get("overlay").getByRole("button", { name: "Clear filters" }).click();
    await dashboard.hasTotal(PODS);
  });

  test("a namespace narrows the rows", async () => {
    await open();
    await dashboard.get("namespace").selectOption("payments");
    await until((all) => Number(document.querySelector("#range").dataset.total) < all, PODS);
    await dashboard.columnMatches("Namespace", /^payments$/);
  });
});

describe("statuses", () => {
  const counts = () => inPage(() => Object.fromEntries(
    [...document.querySelectorAll(".chip")].map((chip) => [chip.dataset.facet, Number(chip.querySelector(".chip-count").textContent.replaceAll(",", ""))]),
  ));

  test("are counted, and a click selects one", async () => {
    await open();
    const before = await counts();
    assert.deepEqual(Object.keys(before), ["Failed", "Pending", "Running", "Succeeded"]);
    assert.equal(Object.values(before).reduce((a, b) => a + b), PODS);
    await dashboard.page.locator(".chip[data-facet=Failed]").click();
    await dashboard.hasTotal(before.Failed);
    assert.match(dashboard.page.url(), /facet\.Status=Failed/);
    assert.deepEqual(await counts(), before, "the others keep their counts");
    await dashboard.page.locator(".chip[data-facet=Failed]").click();
    await dashboard.hasTotal(PODS);
  });

  test("follow the objects", async () => {
    await open();
    const before = await counts();
    await inPage(async () => {
      const { items } = await watchglassDashboard.collection.list();
      const { metadata } = items.find(({ status }) => status.phase === "Running");
      cluster.touch(`${metadata.namespace}/${metadata.name}`, "Failed");
    });
    await until((n) => Number(document.querySelector(".chip[data-facet=Failed] .chip-count").textContent.replaceAll(",", "")) === n, before.Failed + 1);
  });
});

describe("detail", () => {
  test("shows the complete object, updates it, and reports its deletion", async () => {
    await open();
    const key = (await dashboard.keys())[2];
    await dashboard.rows.nth(2).click({ position: { x: 40, y: 10 } });
    const body = dashboard.get("detail-body");
    await body.getByText("apiVersion").waitFor();
    await inPage((key) => { cluster.touch(key); }, key);
    await body.getByText(/touched at \d+/).waitFor();
    assert.ok(await body.locator(".changed").count() > 0 && await body.locator(".changed").count() < 6);
    await dashboard.page.getByRole("button", { name: "JSON" }).click();
    await body.getByText('"apiVersion"').waitFor();
    const shown = JSON.parse((await body.locator(".line").allTextContents()).join("\n"));
    assert.deepEqual(shown, await inPage((key) => watchglassDashboard.collection.get(key), key));
    await inPage((key) => cluster.delete("v1/pods", key), key);
    await dashboard.page.locator("[data-testid=detail][data-deleted=true]").waitFor();
    assert.match(await dashboard.get("detail-note").textContent(), /^Deleted/);
    assert.ok(await body.locator(".line").count());
  });

  test("copies the shown text", async () => {
    await open({ permissions: ["clipboard-read", "clipboard-write"] });
    await dashboard.rows.first().click({ position: { x: 40, y: 10 } });
    await dashboard.get("detail-body").getByText("apiVersion").waitFor();
    await dashboard.get("copy").click();
    await dashboard.page.getByRole("button", { name: "Copied" }).waitFor();
    assert.match(await inPage(() => navigator.clipboard.readText()), /^apiVersion: v1\nkind: Pod\n/);
  });
});

/** Returns the number of seconds that the page shows after `text`, and the page's current time. */
const shownSeconds = (text) => inPage((text) => ({
  seconds: Number(new RegExp(`${text} (\\d+)s`).exec(document.body.textContent)?.[1]), now: Date.now(),
}), text);

/**
 * Schedules an attempt in 110 s. Checks that the page shows the remaining time, regardless of
 * delays on a busy machine, and returns the number of seconds.
 */
async function showsNextAttempt(status) {
  const nextAttempt = await inPage((status) => {
    const nextAttempt = Date.now() + 110_000;
    cluster.shown.set({ ...status, nextAttempt });
    return nextAttempt;
  }, status);
  await dashboard.page.getByText(/next attempt in \d+s/).waitFor();
  const { seconds, now } = await shownSeconds("next attempt in");
  assert.ok(seconds <= 110 && seconds >= Math.floor((nextAttempt - now) / 1000), `${seconds}`);
  return seconds;
}

describe("connection", () => {
  test("loads with a skeleton and its progress", async () => {
    await open({ query: "?pods=500&wait", ready: false });
    await dashboard.state("connecting");
    await inPage(() => cluster.shown.set({ state: "syncing", loaded: 200, total: 500 }));
    await dashboard.page.getByText("Loading 200 of 500").waitFor();
    await inPage(() => cluster.load());
    await dashboard.state("live");
    await dashboard.hasTotal(500);
    assert.match(await dashboard.get("pill").textContent(), /last progress \d+s ago/);
  });

  test("a page that cannot start shows the error and can retry", async () => {
    await open({ query: "?broken", ready: false });
    await dashboard.state("closed");
    await dashboard.page.getByText("no module today").waitFor();
    await inPage(() => history.replaceState(null, "", location.pathname + "?pods=500"));
    await dashboard.page.getByRole("button", { name: "Try again" }).click();
    await dashboard.state("live");
    await dashboard.hasTotal(500);
  });

  test("stale rows stay and are marked until the connection is back", async () => {
    await open();
    const keys = await dashboard.keys();
    const lastProgress = await inPage(() => {
      const lastProgress = Date.now() - 40_000;
      cluster.shown.set({ state: "stale", lastProgress });
      return lastProgress;
    });
    await dashboard.state("stale");
    const { seconds, now } = await shownSeconds("last progress");
    assert.ok(seconds >= 40 && seconds <= (now - lastProgress) / 1000, `${seconds}`);
    assert.equal(await dashboard.get("banner").isVisible(), true);
    assert.deepEqual((await dashboard.keys()).slice(0, 5), keys.slice(0, 5));
    await dashboard.get("reconnect").click();
    await dashboard.state("live");
    assert.equal(await dashboard.get("banner").isVisible(), false);
    assert.equal(await inPage(() => cluster.shown.reconnects), 1);
  });

  // During the backoff, the page shows the time of the next attempt, and a button makes the
  // attempt immediately.
  test("shows the next attempt, and makes it immediately on request", async () => {
    await open();
    const seconds = await showsNextAttempt({ state: "stale" });
    assert.equal(await dashboard.get("reconnect").textContent(), "Try now");
    await until((seconds) => Number(/next attempt in (\d+)s/.exec(document.body.textContent)?.[1]) < seconds, seconds); // the countdown continues
    await inPage(() => cluster.shown.set({ state: "stale", nextAttempt: undefined }));
    await until(() => !document.body.textContent.includes("next attempt"));
    assert.equal(await dashboard.get("reconnect").textContent(), "Reconnect");
    await inPage(() => cluster.shown.set({ state: "stale", nextAttempt: Date.now() + 35_000 }));
    await dashboard.page.getByRole("button", { name: "Try now" }).click();
    await dashboard.state("live");
    assert.equal(await inPage(() => cluster.shown.reconnects), 1);
    assert.equal(await dashboard.get("reconnect").isVisible(), false);
    assert.doesNotMatch(await dashboard.get("pill").textContent(), /next attempt/);
  });

  test("without rows shows the next attempt", async () => {
    await open({ query: "?pods=500&wait", ready: false });
    const error = { code: 503, reason: "ServiceUnavailable", message: "nobody there" };
    await showsNextAttempt({ state: "connecting", error });
    await dashboard.page.getByText("nobody there").waitFor();
    await dashboard.page.getByRole("button", { name: "Try now" }).click();
    await inPage(() => cluster.load());
    await dashboard.state("live");
  });

  test("a resource that the user may not read is an error with a way out", async () => {
    await open();
    await inPage(() => cluster.deny("v1/secrets"));
    await dashboard.get("resource").selectOption("v1/secrets");
    await dashboard.page.getByText("v1/secrets is forbidden").first().waitFor();
    await dashboard.page.getByRole("button", { name: "Show pods" }).click();
    await dashboard.hasTotal(PODS);
    await dashboard.get("resource").selectOption("v1/secrets");
    await dashboard.page.getByText("v1/secrets is forbidden").first().waitFor();
    await inPage(() => { cluster.allow("v1/secrets"); watchglassDashboard.connection.reconnect(); });
    await dashboard.page.getByText("No secrets", { exact: true }).waitFor();
  });

  test("a server that asks for a token gets one", async () => {
    await open({ query: "?pods=500&wait", ready: false });
    await inPage(() => cluster.shown.set({ state: "forbidden", error: { code: 401, reason: "Unauthorized", message: "a token is needed" } }));
    await dashboard.page.getByLabel("Bearer token").waitFor();
    await dashboard.page.keyboard.type("s3cret");
    await Promise.all([dashboard.page.waitForEvent("load"), dashboard.page.keyboard.press("Enter")]);
    assert.equal(await inPage(() => sessionStorage.getItem("watchglass.token")), "s3cret");
    assert.ok(!dashboard.page.url().includes("s3cret"));
    await inPage(() => cluster.shown.set({ state: "forbidden", error: { code: 401, reason: "Unauthorized", message: "wrong token" } }));
    await dashboard.page.getByText("This server does not accept the token").waitFor();
    await dashboard.page.getByText("It says: wrong token.").waitFor();
  });

  test("whose token expires keeps the rows, and can sign in again", async () => {
    await open();
    await inPage(() => cluster.shown.set({ state: "forbidden", error: { code: 401, reason: "Unauthorized", message: "the token has ended" } }));
    await dashboard.get("banner").getByText("the token has ended").waitFor();
    assert.ok((await dashboard.keys()).length > 0);
    await Promise.all([dashboard.page.waitForEvent("load"), dashboard.page.getByRole("button", { name: "Sign in" }).click()]);
  });

  test("objects that cannot be read are listed and can be dismissed", async () => {
    await open();
    await inPage(() => cluster.shown.failObject("web/broken", "cannot decode"));
    await dashboard.get("notice").getByText("web/broken").waitFor();
    await dashboard.page.getByRole("button", { name: "Dismiss" }).click();
    await dashboard.get("notice").waitFor({ state: "hidden" });
  });
});

describe("page", () => {
  test("a shared link shows the same", async () => {
    await open();
    await dashboard.get("label-selector").fill("tier=data");
    await dashboard.get("label-selector").press("Enter");
    await dashboard.sortBy("Restarts");
    await until(() => document.querySelector("[aria-sort=ascending]"));
    await dashboard.frames();
    const [url, keys, total] = [dashboard.page.url(), await dashboard.keys(), await dashboard.total()];
    await dashboard.page.goto("about:blank");
    await dashboard.page.goto(url);
    await dashboard.hasTotal(total);
    assert.deepEqual(await dashboard.keys(), keys);
    assert.equal(await dashboard.get("label-selector").inputValue(), "tier=data");
  });

  test("another resource brings its own columns, and back leads back", async () => {
    await open();
    await dashboard.get("resource").selectOption("v1/nodes");
    await dashboard.hasTotal(120);
    assert.deepEqual(await dashboard.page.locator("[role=columnheader]").allTextContents(), ["Name", "Status", "Roles", "Version", "Age", "Labels"]);
    assert.equal(await dashboard.page.locator("#namespace-picker").isVisible(), false);
    await dashboard.page.goBack();
    await dashboard.hasTotal(PODS);
  });

  test("is dark when the system is, and remembers the toggle", async () => {
    await open({ colorScheme: "dark" });
    const background = () => inPage(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await dashboard.get("theme").click();
    assert.notEqual(await background(), dark);
    await dashboard.page.reload();
    await dashboard.state("live");
    assert.notEqual(await background(), dark);
    await dashboard.get("theme").click();
    assert.equal(await background(), dark);
  });

  for (const width of [400, 700]) test(`fits ${width} pixels`, async () => {
    await open({ viewport: { width, height: 760 } });
    for (const status of [{}, { state: "reconnecting", lastProgress: Date.now() - 500_000, nextAttempt: Date.now() + 35_000 }]) {
      await inPage((status) => cluster.shown.set(status), status);
      await dashboard.frames();
      assert.equal(await inPage(() => document.documentElement.scrollWidth), width);
      const box = await dashboard.get("theme").boundingBox();
      assert.ok(box.x + box.width <= width, "the last button of the header is in sight");
      assert.ok(await dashboard.rows.count());
    }
  });
});

test("scrolls in order while 1,000 objects change a second", async () => {
  await open({ pods: MANY });
  await inPage(() => cluster.churn(1000));
  await dashboard.sortBy("Restarts");
  for (let i = 0; i < 50; i++) {
    await dashboard.page.mouse.move(600, 400);
    await dashboard.page.mouse.wheel(0, 700);
  }
  await inPage(() => cluster.churn(0));
  await until(() => {
    const rows = [...document.querySelectorAll("[data-testid=rows] > [data-key]")];
    return rows.length > 10 && Number(rows[0].getAttribute("aria-rowindex")) > 50;
  });
  assert.equal(await dashboard.total(), MANY);
  const restarts = (await dashboard.column("Restarts")).map(Number);
  assert.deepEqual(restarts, [...restarts].sort((a, b) => a - b));
});

// node persist.js MODULE DATA DIST RECORDING CONNECTOR measures the start of a page in the headless
// Chromium at $CHROMIUM. It compares the time until the table of all pods is exact, with a persisted
// state and after a cold start. The connector with the URL CONNECTOR is behind a slow link. The case
// "local" receives recorded messages from this machine instead.
import { browser, close, exact, open, rounds } from "./recorded.mjs";
import { median, report } from "./rounds.mjs";

const linked = process.argv[6];

/** Opens a page, and waits until it has stored its state if `store` is true. */
async function load(context, scope, connector, store) {
  const page = await open(context);
  const times = await exact(page, { token: "t0ken", persist: true }, scope, connector);
  const counter = (name) => page.evaluate(async (name) => (await wg.inspect())[`persistence.${name}`], name);
  while (store && (await counter("stored")) < 1) await page.waitForTimeout(100);
  const restored = await counter("restored");
  const bytes = await counter("bytes");
  await page.close();
  return { ...times, restored, bytes };
}

async function measure(name, scope, connector) {
  const [cold, again] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const context = await browser.newContext();
    cold.push(await load(context, scope, connector, true));
    again.push(await load(context, scope, connector, false));
    if (again.at(-1).restored !== 1) throw new Error("the second page did not restore the stored state");
    await context.close();
  }
  const of = (loads, name) => median(loads.map((times) => times[name]));
  report({
    figure: "P26", case: name, ratio: median(again.map(({ exact }, i) => exact / cold[i].exact)),
    sides: [
      { name: "persisted", value: of(again, "exact"), unit: "ms" },
      { name: "cold", value: of(cold, "exact"), unit: "ms" },
      { name: "first rows", value: of(again, "first"), unit: "ms" },
      { name: "stored", value: of(again, "bytes"), unit: "B" },
    ],
  });
}

try {
  const context = await browser.newContext();
  await exact(await open(context), {}, {}, linked); // until then, the connector lists its source
  await context.close();
  await measure("link", {}, linked);
  await measure("rows-first", { rowsFirst: true }, linked);
  await measure("local", {});
} finally {
  await close();
}

// node persist.js MODULE DATA DIST measures the start of a page in the headless Chromium at
// $CHROMIUM. It compares the time until the table of all pods is exact, with a persisted state and
// after a cold start.
import { browser, close, exact, open, rounds } from "./recorded.mjs";
import { median, report } from "./rounds.mjs";

/** Opens a page, and waits until it has stored its state if `store` is true. */
async function load(context, store) {
  const page = await open(context);
  const times = await exact(page, { token: "t0ken", persist: true });
  const counter = (name) => page.evaluate(async (name) => (await wg.inspect())[`persistence.${name}`], name);
  while (store && (await counter("stored")) < 1) await page.waitForTimeout(100);
  const restored = await counter("restored");
  const bytes = await counter("bytes");
  await page.close();
  return { ...times, restored, bytes };
}

try {
  const [cold, again] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const context = await browser.newContext();
    cold.push(await load(context, true));
    again.push(await load(context, false));
    if (again.at(-1).restored !== 1) throw new Error("the second page did not restore the stored state");
    await context.close();
  }
  const of = (loads, name) => median(loads.map((times) => times[name]));
  report({
    figure: "P26", ratio: median(again.map(({ exact }, i) => exact / cold[i].exact)),
    sides: [
      { name: "persisted", value: of(again, "exact"), unit: "ms" },
      { name: "cold", value: of(cold, "exact"), unit: "ms" },
      { name: "first rows", value: of(again, "first"), unit: "ms" },
      { name: "stored", value: of(again, "bytes"), unit: "B" },
    ],
  });
} finally {
  await close();
}

// node tabs.js MODULE DATA DIST measures a second tab, which shares the engine of the first, in the
// headless Chromium at $CHROMIUM. For both tabs, it measures the time from the page's start until
// the table of all pods is exact.
import { browser, close, exact, open, rounds } from "./recorded.mjs";
import { median, report } from "./rounds.mjs";

try {
  const [first, second] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const context = await browser.newContext();
    for (const times of [first, second]) times.push((await exact(await open(context), { identity: "ann" })).exact);
    await context.close();
  }
  report({
    figure: "P27", ratio: median(second.map((millis, i) => millis / first[i])),
    sides: [
      { name: "second", value: median(second), unit: "ms" },
      { name: "first", value: median(first), unit: "ms" },
    ],
  });
} finally {
  await close();
}

// node search.js MODULE DATA DIST RECORDING measures P18 in a page of the headless Chromium at
// $CHROMIUM. P18 is the time from a keystroke in a search over all pods until the first rows of the
// result.
import { browser, close, exact, open } from "./recorded.mjs";
import { median, report } from "./rounds.mjs";

const rounds = 7;
const warmUps = 2;
const word = "worker";

try {
  const page = await open(await browser.newContext());
  await exact(page, {}, { metadataOnly: true });
  const typed = await page.evaluate(async ({ word, times }) => {
    const query = { sort: "-Restarts", limit: 50 };
    const view = wg.collection("v1/pods", { metadataOnly: true }).view(query);
    await view.ready;
    const rounds = [];
    for (let i = 0; i < times; i++) {
      await view.query(query);
      const strokes = [];
      for (let n = 1; n <= word.length; n++) {
        const start = performance.now();
        await view.query({ ...query, search: word.slice(0, n) });
        strokes.push({ millis: performance.now() - start, total: view.snapshot.total });
      }
      rounds.push(strokes);
    }
    return rounds;
  }, { word, times: rounds + warmUps });
  const measured = typed.slice(warmUps);
  // All rounds have the same keystrokes.
  const strokes = measured[0].map(({ total }, i) => ({ total, millis: median(measured.map((strokes) => strokes[i].millis)) }));
  const sides = strokes.map(({ total, millis }, i) => ({ name: `"${word.slice(0, i + 1)}", ${total} pods`, value: millis, unit: "ms" }));
  report({ figure: "P18", case: "first", unit: "ms", ratio: strokes[0].millis, sides: sides.slice(0, 1) });
  report({ figure: "P18", case: "further", unit: "ms", ratio: Math.max(...strokes.slice(1).map(({ millis }) => millis)), sides: sides.slice(1) });
} finally {
  await close();
}

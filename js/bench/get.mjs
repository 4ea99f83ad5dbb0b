// node get.js MODULE DATA DIST measures P28 in a page of the headless Chromium at $CHROMIUM. P28 is
// the time from a page's call of get to the parsed object. Successive objects are in different
// blocks, so each read decompresses a block.
import { browser, close, exact, open } from "./recorded.mjs";
import { median, report } from "./rounds.mjs";

const rounds = 7;
const warmUps = 2;
const reads = 300;
const jump = 7919; // prime, so that the reads reach every key

try {
  const page = await open(await browser.newContext());
  await exact(page, {});
  const measured = await page.evaluate(async ({ reads, jump, times }) => {
    const pods = wg.collection("v1/pods");
    const view = pods.view({ limit: 10_000 });
    await view.ready;
    const keys = view.snapshot.rows.map(({ key }) => key);
    view.close();
    const rounds = [];
    for (let round = 0; round < times; round++) {
      const millis = [];
      const start = performance.now();
      for (let i = 0; i < reads; i++) {
        const key = keys[((round * reads + i) * jump) % keys.length];
        const called = performance.now();
        const pod = await pods.get(key);
        if (`${pod.metadata.namespace}/${pod.metadata.name}` !== key || !pod.spec) throw new Error(`${key} has no body`);
        millis.push(performance.now() - called);
      }
      rounds.push({ mean: (performance.now() - start) / reads, slow: millis.sort((a, b) => a - b)[Math.floor(reads * 0.99)] });
    }
    return rounds;
  }, { reads, jump, times: rounds + warmUps });
  for (const [name, of] of [["mean", ({ mean }) => mean], ["slowest-of-100", ({ slow }) => slow]]) {
    const value = median(measured.slice(warmUps).map(of));
    report({ figure: "P28", case: name, unit: "ms", ratio: value, sides: [{ name: "get", value, unit: "ms" }] });
  }
} finally {
  await close();
}

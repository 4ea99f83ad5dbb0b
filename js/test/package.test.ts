import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

test("every mention of the version is that of package.json", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { version: string };
  const mentions = ["src/index.ts", "src/start.ts"].flatMap((file) => [...readFileSync(file, "utf8").matchAll(/watchglass(?:-js)?[-/](\d+\.\d+\.\d+)/g)]);
  assert.equal(mentions.length, 5);
  for (const [, mentioned] of mentions) assert.equal(mentioned, version);
});

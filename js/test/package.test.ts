import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { packaged } from "./paths.js";

test("every mention of the version is that of package.json", () => {
  const { version } = JSON.parse(readFileSync(packaged("package.json"), "utf8")) as { version: string };
  const mentions = ["src/index.ts", "src/start.ts", "src/edge/object.ts"].flatMap((file) => [...readFileSync(packaged(file), "utf8").matchAll(/watchglass(?:-js|-edge)?[-/](\d+\.\d+\.\d+)/g)]);
  assert.equal(mentions.length, 6);
  for (const [, mentioned] of mentions) assert.equal(mentioned, version);
});

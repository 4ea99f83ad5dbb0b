import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { packaged } from "./paths.js";

test("every mention of the version is that of package.json", () => {
  const { version } = JSON.parse(readFileSync(packaged("package.json"), "utf8")) as { version: string };
  const mentions = ["src/index.ts", "src/start.ts", "src/edge/object.ts"].flatMap((file) => [...readFileSync(packaged(file), "utf8").matchAll(/watchglass(?:-js|-edge)?[-/](\d+\.\d+\.\d+)/g)]);
  assert.equal(mentions.length, 6);
  for (const [, mentioned] of mentions) assert.equal(mentioned, version);
});

// The hooks are a layer over the entry that the program imports, and carry no copy of it.
test("the React entry is small and imports React alone", () => {
  const text = readFileSync(packaged("dist/react.js"), "utf8");
  assert.deepEqual([...new Set([...text.matchAll(/^import .* from "([^"]+)";$/gms)].map(([, from]) => from))], ["react"]);
  assert.ok(gzipSync(text).length < 5000, `${gzipSync(text).length} bytes after gzip`);
});

// Regression: the license was not in the package, and its README led to what was not either.
test("what is packed has a license, and a README that leads nowhere outside of it", () => {
  const packed = JSON.parse(execFileSync("npm", ["pack", "--dry-run", "--json"], { cwd: packaged("."), encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })) as [{ files: { path: string }[] }];
  const files = packed[0].files.map(({ path }) => path);
  assert.ok(files.includes("LICENSE"), files.join(" "));
  assert.ok(files.includes("README.md"));
  const links = [...readFileSync(packaged("README.md"), "utf8").matchAll(/\]\(([^)]+)\)/g)].map(([, to]) => to!);
  assert.ok(links.length > 0);
  for (const to of links) assert.ok(/^(https:|#)/.test(to) || files.includes(to), `${to} is not in the package`);
});

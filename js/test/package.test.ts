import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { transformSync } from "esbuild";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { packaged } from "./paths.js";

test("every document names the version of package.json", () => {
  const { version } = JSON.parse(readFileSync(packaged("package.json"), "utf8")) as { version: string };
  const mentions = ["src/index.ts", "src/start.ts", "src/edge/object.ts"].flatMap((file) => [...readFileSync(packaged(file), "utf8").matchAll(/watchglass(?:-js|-edge)?[-/](\d+\.\d+\.\d+)/g)]);
  assert.equal(mentions.length, 7);
  for (const [, mentioned] of mentions) assert.equal(mentioned, version);
});

/** The entries other than the main one, and the packages that each may import. */
const adapters = { react: ["react"], groups: [], indexer: [], informer: [], inspector: [], kinds: [], persistence: [], search: [], stores: [], "tanstack-db": [], testing: [], tree: [] };

// Adapters use the client that the program gets from the main entry, and must not contain a copy of
// the main entry.
for (const [name, imports] of Object.entries(adapters)) {
  test(`the entry ${name} imports ${imports.join() || "nothing"}, and has the size that the README states`, () => {
    const text = readFileSync(packaged(`dist/${name}.js`), "utf8");
    assert.deepEqual([...new Set([...text.matchAll(/^import .* from "([^"]+)";$/gms)].map(([, from]) => from))], imports);
    checkSize(name, text);
  });
}

test("the entry inline is one file with everything, and has the size that the README states", () => {
  const [, stated] = /`watchglass\/inline`[^\n]* (0\.\d+) MB after gzip/.exec(readFileSync(packaged("README.md"), "utf8")) ?? [];
  for (const name of ["inline.js", "watchglass.iife.js"]) {
    const text = readFileSync(packaged(`dist/${name}`), "utf8");
    assert.deepEqual(text.match(/^import .*|[^\w.]import\(["'][^"']*["']\)/gm), null, name);
    const megabytes = gzipSync(text, { level: 9 }).length / 1e6;
    assert.ok(Number(stated) >= megabytes && Number(stated) < megabytes * 1.1, `${name}: ${megabytes.toFixed(2)} MB after gzip, and the README says ${stated}`);
  }
});

test("the main entry is one file, and has the size that the README states", () => {
  const text = readFileSync(packaged("dist/index.js"), "utf8");
  // Static imports are forbidden. Two dynamic imports are allowed, because only some pages load
  // them.
  assert.doesNotMatch(text, /^(?:import|export|\}) .*from /m);
  assert.deepEqual([...new Set(text.match(/[^\w.]import\([^)]*\)/g))].sort(), [' import("./optional.js")', ' import("./start.js")']);
  checkSize("", text);
  checkFile("dist/optional.js", /few pages need \((\d+\.\d) kB\)/, readFileSync(packaged("dist/optional.js"), "utf8"));
});

/**
 * Checks that the size of an entry's file is at most the size that the README states, and not much
 * smaller.
 */
function checkSize(name: string, text: string): void {
  checkFile(name, new RegExp(`\\| \`watchglass${name && `/${name}`}\` \\|.*\\| (\\d+\\.\\d) kB \\|`), text);
}

function checkFile(name: string, statement: RegExp, text: string): void {
  const stated = statement.exec(readFileSync(packaged("README.md"), "utf8"))?.[1];
  const kilobytes = gzipSync(transformSync(text, { format: "esm", minify: true }).code, { level: 9 }).length / 1000;
  assert.ok(Number(stated) >= kilobytes && Number(stated) < kilobytes * 1.05 + 0.2, `${name}: ${kilobytes.toFixed(2)} kB, minified and after gzip, and the README says ${stated}`);
}

interface Packed {
  filename: string;
  files: { path: string }[];
}

/** The contents that `npm publish` would upload. */
let packed: Packed;
let tarball: Uint8Array<ArrayBuffer>;

before(() => {
  const folder = mkdtempSync(packaged("build/pack-"));
  try {
    const output = execFileSync("npm", ["pack", "--json", "--pack-destination", folder], { cwd: packaged("."), encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    [packed] = JSON.parse(output) as [Packed];
    tarball = new Uint8Array(readFileSync(join(folder, packed.filename)));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

// Links in the README must work in the published package.
test("the package has a license, and a README without links outside of it", () => {
  const files = packed.files.map(({ path }) => path);
  assert.ok(files.includes("LICENSE"), files.join(" "));
  assert.ok(files.includes("README.md"));
  assert.ok(files.includes("llms.txt")); // for coding agents
  const links = [...readFileSync(packaged("README.md"), "utf8").matchAll(/\]\(([^)]+)\)/g)].map(([, to]) => to!);
  assert.ok(links.length > 0);
  for (const to of links) assert.ok(/^(https:|#)/.test(to) || files.includes(to), `${to} is not in the package`);
});

test("publint reports no problems", async () => {
  const { messages, pkg } = await publint({ pack: { tarball: tarball.buffer }, strict: true });
  assert.deepEqual(messages.map((message) => formatMessage(message, pkg, { color: false })), []);
});

// The package contains only ES modules. The worker's script and the WebAssembly module have no
// types.
test("types resolve for every entry, by bundlers and by Node", async () => {
  const analysis = await checkPackage(createPackageFromTarballData(tarball), { excludeEntrypoints: ["./worker", "./watchglass.wasm", "./package.json"] });
  assert.ok(analysis.types);
  const problems = analysis.problems.filter((problem) => !("resolutionKind" in problem) || problem.resolutionKind === "bundler" || problem.resolutionKind === "node16-esm");
  assert.deepEqual(problems, []);
  const entries = Object.keys(analysis.entrypoints);
  for (const name of [".", "./edge", "./inline", ...Object.keys(adapters).map((name) => `./${name}`)]) assert.ok(entries.includes(name), `${name} is not in ${entries.join()}`);
});

import { checkPackage, createPackageFromTarballData } from "@arethetypeswrong/core";
import { build, transformSync } from "esbuild";
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { before, test } from "node:test";
import { runInNewContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { publint } from "publint";
import { formatMessage } from "publint/utils";
import { packaged } from "./paths.js";

const distributed = (file: string): string => readFileSync(packaged("dist", file), "utf8");

// A page joins only the worker of the same release, and reads only the states that the same release
// stored.
test("the names of workers, clients and stored states contain the version of package.json", () => {
  const { version } = JSON.parse(readFileSync(packaged("package.json"), "utf8")) as { version: string };
  const [worker, client, edge, state] = [/"watchglass-(\d[^"]*)"|`watchglass-\$\{"(.*?)"\}/g, /"watchglass-js\/(.*?)"/g, /"watchglass-edge\/(.*?)"/g, /\bformat = `\$\{"(.*?)"\} /g];
  const mentions: [file: string, pattern: RegExp, count: number][] = [
    ["index.js", worker, 5],
    ["node.js", worker, 5],
    ["workerd.js", worker, 5],
    ...["start.js", "worker.js", "node.js", "workerd.js"].flatMap((file): typeof mentions => [[file, client, 1], [file, state, 1]]),
    ["edge.js", edge, 1],
  ];
  for (const [file, pattern, count] of mentions) {
    const found = [...distributed(file).matchAll(pattern)].map(([, literal, part]) => literal ?? part);
    assert.deepEqual(found, Array<string>(count).fill(version), `${file}: ${pattern}`);
  }
});

test("no source contains a version, because the build inserts that of package.json", () => {
  const sources = readdirSync(packaged("src"), { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
  assert.ok(sources.includes("persistence/persistence.ts"), sources.join(" "));
  for (const file of sources) assert.doesNotMatch(readFileSync(packaged("src", file), "utf8"), /(?<![\d.])\d+\.\d+\.\d+(?![\d.])/, file);
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
  assert.ok(minifiedSize(text) <= 15, `${minifiedSize(text)} kB, minified and after gzip`);
  checkFile("dist/optional.js", /few pages need \((\d+\.\d) kB\)/, readFileSync(packaged("dist/optional.js"), "utf8"));
});

/**
 * Checks that the size of an entry's file is at most the size that the README states, and not much
 * smaller.
 */
function checkSize(name: string, text: string): void {
  checkFile(name, new RegExp(`\\| \`watchglass${name && `/${name}`}\` \\|.*\\| (\\d+\\.\\d) kB \\|`), text);
}

/** Returns the size of a script in kilobytes, minified and after gzip. */
const minifiedSize = (text: string): number => gzipSync(transformSync(text, { format: "esm", minify: true }).code, { level: 9 }).length / 1000;

function checkFile(name: string, statement: RegExp, text: string): void {
  const stated = statement.exec(readFileSync(packaged("README.md"), "utf8"))?.[1];
  const kilobytes = minifiedSize(text);
  assert.ok(Number(stated) >= kilobytes && Number(stated) < kilobytes * 1.05 + 0.2, `${name}: ${kilobytes.toFixed(2)} kB, minified and after gzip, and the README says ${stated}`);
}

/** Returns the names of the values that a file of the build exports. */
async function exportsOf(file: string): Promise<string[]> {
  const { metafile } = await build({ entryPoints: [packaged("dist", file)], outdir: packaged("build"), format: "esm", write: false, metafile: true });
  return Object.values(metafile.outputs)[0]!.exports.sort();
}

// The types of "." describe all of these files.
test("the main entry exports the same values on all platforms, and so do the bundles of one file", async () => {
  const names = await exportsOf("index.js");
  assert.ok(names.includes("connect"), names.join());
  for (const file of ["node.js", "workerd.js", "inline.js"]) assert.deepEqual(await exportsOf(file), names, file);
  const globals = runInNewContext(`${distributed("watchglass.iife.js")}; Object.keys(watchglass)`, { TextEncoder, TextDecoder }) as string[];
  assert.deepEqual([...globals].sort(), names);
});

// A bundler removes all functions and classes that a page does not use. The bound allows for the
// constants that esbuild keeps, about 0.8 kB. It is less than the size of the client, and much less
// than that of the worker.
test("a bundle with one function of the main entry contains little else", async () => {
  const size = async (name: string): Promise<{ bytes: number; text: string }> => {
    const stdin = { contents: `export { ${name} } from "watchglass";`, resolveDir: packaged(".") };
    const { outputFiles } = await build({ stdin, bundle: true, minify: true, format: "esm", platform: "browser", write: false, logLevel: "error" });
    return { bytes: outputFiles[0]!.contents.length, text: outputFiles[0]!.text };
  };
  const { bytes, text } = await size("compareResourceVersions");
  assert.ok(bytes <= 1000, `${bytes} bytes: ${text.slice(0, 1000)}`);
  assert.doesNotMatch(text, /Worker|WebAssembly|WebSocket|import\(/);
  assert.match((await size("connect")).text, /new SharedWorker/);
});

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

/** The scripts without source maps, each of which contains the module as text. */
const unmapped = ["dist/inline.js", "dist/watchglass.iife.js"];

test("every script has a source map in the package, which contains its sources", () => {
  const files = packed.files.map(({ path }) => path);
  const scripts = files.filter((path) => path.endsWith(".js"));
  assert.ok(scripts.length > 20, scripts.join());
  for (const script of scripts) {
    const map = /^\/\/# sourceMappingURL=(.*)\n$/m.exec(readFileSync(packaged(script), "utf8").slice(-200))?.[1];
    if (unmapped.includes(script)) {
      assert.equal(map, undefined, script);
      continue;
    }
    assert.equal(map, `${basename(script)}.map`);
    assert.ok(files.includes(`${script}.map`), `${script}.map is not in the package`);
    const { sources, sourcesContent, mappings } = JSON.parse(readFileSync(packaged(`${script}.map`), "utf8")) as { sources: string[]; sourcesContent: string[]; mappings: string };
    assert.ok(sources.length > 0 && mappings.length > 0, script);
    // The sources are not files of the package, so the map must contain their text.
    assert.deepEqual(sourcesContent, sources.map((source) => readFileSync(join(packaged("dist"), source), "utf8")), script);
  }
  assert.deepEqual(files.filter((path) => path.endsWith(".map")), scripts.filter((script) => !unmapped.includes(script)).map((script) => `${script}.map`));
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

// Usage: node node.mjs, with module.wasm and transcripts.json in the same directory
import { readFile } from "node:fs/promises";
import { replay } from "./replay.mjs";

const read = (name) => readFile(new URL(name, import.meta.url));
const module = await WebAssembly.compile(await read("module.wasm"));
const different = await replay(JSON.parse(await read("transcripts.json")), module, console.log);
process.exitCode = different === 0 ? 0 : 1;

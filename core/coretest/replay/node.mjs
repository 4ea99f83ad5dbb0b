// node node.mjs MODULE TRANSCRIPT...
import { readFile } from "node:fs/promises";
import { replay } from "./replay.mjs";

const [, , module, ...files] = process.argv;
const transcripts = await Promise.all(files.map((file) => readFile(file, "utf8")));
const different = await replay(transcripts, await WebAssembly.compile(await readFile(module)), console.log);
process.exitCode = different === 0 ? 0 : 1;

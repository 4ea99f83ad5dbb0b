// The worker of browser.html. It posts what was reported, or why nothing could be.
import { replay } from "./replay.mjs";

const lines = [];
try {
  const module = await WebAssembly.compileStreaming(fetch("module.wasm"));
  const transcripts = await (await fetch("transcripts.json")).json();
  await replay(transcripts, module, (line) => lines.push(line));
} catch (error) {
  lines.push(String(error));
}
postMessage(lines.join("\n"));

// The worker of browser.html. It posts the report, or the error that prevented it.
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

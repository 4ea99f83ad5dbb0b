// Replays the transcript in each request's body and responds with the report.
// The runtime compiles the module, and provides no randomness outside of requests.
import module from "./module.wasm";
import { replay } from "./replay.mjs";

export default {
  async fetch(request) {
    const lines = [];
    await replay([await request.text()], module, (line) => lines.push(line));
    return new Response(lines.join("\n"));
  },
};

// Replays transcripts of scenarios on a watchglass module and compares the output byte
// for byte. The only interface that it uses is WebAssembly, so it runs in Node, browsers
// and workerd. Each of these runtimes has an entry point in this directory.

const hex = (bytes) => Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
const unhex = (text) => Uint8Array.from({ length: text.length / 2 }, (_, i) => parseInt(text.substr(2 * i, 2), 16));

// Returns the system calls that a Go module imports. None of them affects the module's output.
function system(module, memory) {
  const view = () => new DataView(memory().buffer);
  const none = (count, size) => (view().setUint32(count, 0, true), view().setUint32(size, 0, true), 0);
  const calls = {
    args_sizes_get: none,
    environ_sizes_get: none,
    clock_time_get: (_id, _precision, at) => (view().setBigUint64(at, BigInt(Date.now()) * 1_000_000n, true), 0),
    random_get: (at, n) => (new Uint8Array(memory().buffer, at, n).fill(7), 0),
    fd_write: (_fd, iovs, count, written) => {
      let n = 0;
      for (let i = 0; i < count; i++) n += view().getUint32(iovs + 8 * i + 4, true);
      return view().setUint32(written, n, true), 0;
    },
    proc_exit: (code) => {
      throw new Error(`the module exited with code ${code}`);
    },
    fd_prestat_get: () => 8,
  };
  const imports = {};
  for (const { module: from, name } of WebAssembly.Module.imports(module)) {
    (imports[from] ??= {})[name] = calls[name] ?? (() => 0);
  }
  return imports;
}

async function instantiate(module) {
  let memory;
  const { exports } = await WebAssembly.instantiate(module, system(module, () => memory));
  memory = exports.memory;
  exports._initialize();
  const output = (n) => new Uint8Array(memory.buffer, exports.wg_out() >>> 0, n).slice();
  const input = (call, text) => {
    const bytes = unhex(text);
    const at = exports.wg_reserve(bytes.length) >>> 0;
    new Uint8Array(memory.buffer, at, bytes.length).set(bytes);
    return call(bytes.length) === 0 ? "" : new TextDecoder().decode(output(exports.wg_error()));
  };
  return {
    open: (text) => input(exports.wg_open, text),
    step: (text) => input(exports.wg_step, text),
    tick: (millis) => exports.wg_tick(BigInt(millis)),
    ready: () => {
      const n = exports.wg_ready();
      return n > 0 ? hex(output(n)) : n === 0 ? "-" : `code ${n}`;
    },
    advance: () => exports.wg_advance(),
  };
}

/**
 * Makes a call of a transcript. Returns how the result differs from the recorded one, or
 * undefined. An error frame contains more than the recorded message, so it only has to
 * contain the message.
 */
function difference(engine, call) {
  const refusal = (got) => {
    if (call.error ? got.includes(call.error) : got === "") return undefined;
    return `refused with ${JSON.stringify(got)} instead of ${JSON.stringify(call.error ?? "")}`;
  };
  if (call.open !== undefined) return refusal(engine.open(call.open));
  if (call.step !== undefined) return refusal(engine.step(call.step));
  if (call.tick !== undefined) return engine.tick(call.tick) === 0 ? undefined : "tick failed";
  if (call.advance) return engine.advance() === 0 ? undefined : "advance failed";
  const got = engine.ready();
  return got === call.ready ? undefined : `ready returned ${got} instead of ${call.ready}`;
}

/**
 * Replays transcripts, each the text of one file, on a compiled module. Calls
 * report with one line per transcript, and returns the number of transcripts that differ.
 */
export async function replay(transcripts, module, report) {
  let different = 0;
  for (const text of transcripts) {
    const [head, ...calls] = text.trimEnd().split("\n").map((line) => JSON.parse(line));
    const engine = calls.length > 0 ? await instantiate(module) : undefined;
    let found;
    for (let i = 0; i < calls.length && !found; i++) {
      const what = difference(engine, calls[i]);
      if (what) found = `call ${i + 1} of ${calls.length}: ${what}`;
    }
    if (found) different++;
    report(found ? `DIFFERENT ${head.scenario}: ${found}` : `ok ${head.scenario} ${head.steps}`);
  }
  return different;
}

import { internalError, messageOf, protocolError } from "./errors.js";
import { readFile } from "./platform.js";
import { Wasi } from "./wasi.js";
import { fingerprint, split, Writer } from "./wire/codec.js";
import { streamDataHead, writeCommand, type Command } from "./wire/driver-commands.js";
import { readOutput } from "./wire/driver-outputs.js";

/**
 * The ABI version that this package implements: the version of the module's interface in the high
 * byte, and the fingerprint of the frames in the low three bytes.
 */
export const abi = (1 << 24) | fingerprint;

/** Thrown when the guest refuses a call, or crashes during one. */
export class GuestError extends Error {
  /**
   * False if the input was invalid and nothing was applied, so that the guest remains
   * usable. True if the guest is broken and must be replaced.
   */
  readonly poisoned: boolean;

  constructor(message: string, poisoned: boolean, cause?: unknown) {
    super(message, { cause });
    this.poisoned = poisoned;
  }
}

/** An instance of the module, with one engine. Every method may throw a {@link GuestError}. */
export interface Guest {
  /** Applies complete frames atomically. */
  step(frames: Uint8Array): void;
  /** Applies one StreamData frame, whose data is copied only once, into the guest. */
  stepData(stream: number, data: Uint8Array): void;
  /** Advances the clock, in milliseconds since the epoch. The time must not decrease. */
  tick(now: number): void;
  /** Returns the pending output, which the caller then owns, or undefined if there is none. */
  take(): Uint8Array<ArrayBuffer> | undefined;
  /** The memory of the module in bytes. It never shrinks. */
  readonly memoryBytes: number;
  close(): void;
}

/** The sources of a module that {@link compile} accepts. */
export type ModuleSource = URL | string | BufferSource | WebAssembly.Module;

/** The smallest module with a vector instruction, to test whether the platform supports vectors. */
const vectorModule = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 5, 1, 0x60, 0, 1, 0x7b, 3, 2, 1, 0, 10, 8, 1, 6, 0, 0x41, 0, 0xfd, 0x0f, 0x0b);

/** How long loading the module may take, in milliseconds. */
const loadMillis = 60_000;

/**
 * Compiles the module. Callers should reuse the result, because compiling is expensive. Rejects if
 * the module has not arrived after {@link loadMillis}.
 */
export async function compile(source: ModuleSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (!WebAssembly.validate(vectorModule)) {
    throw internalError("the watchglass module cannot run here: it needs WebAssembly with vectors (SIMD), available from Chrome 91, Firefox 89 and Safari 16.4");
  }
  if (typeof source !== "string" && !(source instanceof URL)) return WebAssembly.compile(source);
  const where = String(source);
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`it was not loaded within ${loadMillis / 1000} s`)), loadMillis);
  try {
    if (where.startsWith("file:")) {
      return await WebAssembly.compile(await readFile(new URL(where)));
    }
    const response = await fetch(where, { signal: late.signal });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    // Streaming requires this content type without parameters, which some servers do not send.
    if (response.headers.get("content-type") === "application/wasm") {
      return await WebAssembly.compileStreaming(response);
    }
    return await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    const why = messageOf(late.signal.reason ?? error);
    const remedy = /content security policy|wasm-unsafe-eval/i.test(why)
      ? "Add 'wasm-unsafe-eval' to script-src of the page's Content-Security-Policy."
      : 'Pass its location as the "wasm" option.';
    throw internalError(`cannot load the watchglass module from ${where}: ${why}. ${remedy}`, error);
  } finally {
    clearTimeout(timer);
  }
}

interface Exports {
  memory: WebAssembly.Memory;
  _initialize(): void;
  wg_abi(): number;
  wg_reserve(n: number): number;
  wg_open(n: number): number;
  wg_step(n: number): number;
  wg_tick(now: bigint): number;
  wg_ready(): number;
  wg_out(): number;
  wg_advance(): number;
  wg_error(): number;
  wg_close(): number;
}

const names = ["wg_abi", "wg_reserve", "wg_open", "wg_step", "wg_tick", "wg_ready", "wg_out", "wg_advance", "wg_error", "wg_close"] as const;

/**
 * A function that returns a body that was omitted from a RestoreChunk. The argument is the name of
 * the body in that command. The result is empty if the body no longer exists.
 */
export type Load = (name: number) => Uint8Array;

/** Creates an instance of the module, and opens its engine with a configuration. */
export async function openGuest(module: WebAssembly.Module, config: Command & { type: "Config" }, load?: Load): Promise<Guest> {
  const wasi = new Wasi();
  const instance = await WebAssembly.instantiate(module, wasi.importsFor(module, { watchglass: { load: loading } }));
  const exports = instance.exports as unknown as Exports;
  for (const name of names) {
    if (typeof exports[name] !== "function") throw protocolError(`the module lacks the export ${name}: it is not a watchglass module`);
  }
  function loading(name: number, at: number, length: number): number {
    const data = load?.(name >>> 0);
    if (data?.length !== length >>> 0) return 0;
    new Uint8Array(exports.memory.buffer, at >>> 0, data.length).set(data);
    return data.length;
  }
  wasi.bind(exports.memory);
  exports._initialize();
  const version = exports.wg_abi();
  if (version !== abi) {
    const [theirs, ours] = [version, abi].map((v) => `0x${(v >>> 0).toString(16).padStart(8, "0")}`);
    throw protocolError(`the module has version ${theirs} of the interface, and this package requires version ${ours}; use the watchglass.wasm of the same release`);
  }
  return new WasmGuest(exports, config);
}

class WasmGuest implements Guest {
  readonly #exports: Exports;
  #broken: GuestError | undefined;

  constructor(exports: Exports, config: Command & { type: "Config" }) {
    this.#exports = exports;
    const w = new Writer();
    writeCommand(w, config);
    this.#input("open", w.take(), (n) => exports.wg_open(n));
  }

  step(frames: Uint8Array): void {
    this.#input("step", frames, (n) => this.#exports.wg_step(n));
  }

  stepData(stream: number, data: Uint8Array): void {
    const head = streamDataHead(stream, data.length);
    this.#input("step", head, (n) => this.#exports.wg_step(n), data);
  }

  tick(now: number): void {
    this.#checked("tick", () => this.#exports.wg_tick(BigInt(now)));
  }

  take(): Uint8Array<ArrayBuffer> | undefined {
    const n = this.#call("ready", () => this.#exports.wg_ready());
    if (n < 0) this.#checked("ready", () => -n);
    if (n <= 0) return undefined;
    const output = this.#output(n);
    this.#checked("advance", () => this.#exports.wg_advance());
    return output;
  }

  get memoryBytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  close(): void {
    if (!this.#broken) this.#checked("close", () => this.#exports.wg_close());
  }

  #input(what: string, frames: Uint8Array, call: (n: number) => number, more?: Uint8Array): void {
    const length = frames.length + (more?.length ?? 0);
    const at = this.#call("reserve", () => this.#exports.wg_reserve(length)) >>> 0;
    if (at === 0) throw new GuestError(`${length} bytes are too many for one ${what}`, false);
    const arena = new Uint8Array(this.#exports.memory.buffer, at, length);
    arena.set(frames);
    if (more) arena.set(more, frames.length);
    this.#checked(what, () => call(length));
  }

  #output(n: number): Uint8Array<ArrayBuffer> {
    const at = this.#call("out", () => this.#exports.wg_out()) >>> 0;
    return new Uint8Array(this.#exports.memory.buffer as ArrayBuffer, at, n).slice();
  }

  #checked(what: string, call: () => number): void {
    const code = this.#call(what, call);
    if (code === 0) return;
    const error = new GuestError(this.#reason(what, code), code !== 1);
    if (error.poisoned) this.#broken = error;
    throw error;
  }

  /**
   * Calls an export. After a trap, an instance remains callable, but its state is corrupt. All
   * calls after the first trap therefore fail.
   */
  #call(what: string, call: () => number): number {
    if (this.#broken) throw this.#broken;
    try {
      return call();
    } catch (cause) {
      this.#broken = new GuestError(`the engine crashed in ${what}: ${messageOf(cause)}`, true, cause);
      throw this.#broken;
    }
  }

  /**
   * Returns the guest's description of its last error code. If the guest cannot provide one,
   * returns a message that contains the code.
   */
  #reason(what: string, code: number): string {
    try {
      const n = this.#exports.wg_error();
      const [frame] = n > 0 ? split(this.#output(n)) : [];
      const reply = frame && readOutput(frame);
      if (reply?.type === "ErrorReply" && reply.status) return reply.status.message;
    } catch {
      // Report only the code.
    }
    return `the engine answered ${what} with code ${code}`;
  }
}

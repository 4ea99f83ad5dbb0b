import { internalError, protocolError } from "./errors.js";

// The subset of WASI that a Go reactor needs: no files, no arguments, no blocking. The
// specification of wasi_snapshot_preview1 defines the error numbers.

const namespace = "wasi_snapshot_preview1";
const ok = 0;
const badDescriptor = 8;
const notImplemented = 52;

/**
 * The environment variables of the guest. With Go's default GOGC of 100, the memory of the module
 * would grow to twice the live heap. This memory never shrinks.
 */
const environment = new TextEncoder().encode("GOGC=40\0");

/** Thrown when the guest exits, which a Go runtime does after a fatal error. */
class GuestExit extends Error {
  constructor(code: number) {
    super(`the module exited with code ${code}`);
  }
}

// The functions of an import module, by name. Their parameter types differ.
export type Calls = Record<string, (...args: never[]) => number>;

/**
 * The system interface of one instance. Call bind with the instance's memory after
 * instantiation.
 */
export class Wasi {
  #memory: WebAssembly.Memory | undefined;
  readonly #lines = new Map<number, string>();
  readonly #decoder = new TextDecoder();

  bind(memory: WebAssembly.Memory): void {
    this.#memory = memory;
  }

  /**
   * Returns the imports for instantiating a module: the WASI calls and `others`. Throws if the
   * module requires any other import.
   */
  importsFor(module: WebAssembly.Module, others: Record<string, Calls> = {}): WebAssembly.Imports {
    const imports: Record<string, Calls> = { ...others, [namespace]: this.#calls() };
    for (const { module: from, name, kind } of WebAssembly.Module.imports(module)) {
      if (kind !== "function" || !imports[from]?.[name]) {
        throw protocolError(
          `the module imports ${kind} ${from}.${name}, which this version of watchglass does not provide; use the watchglass.wasm of the same release`,
        );
      }
    }
    return imports as WebAssembly.Imports;
  }

  // Any call into the guest may replace the memory's buffer, so a view is valid only until the next
  // call.
  #view(): DataView {
    if (!this.#memory) throw internalError("the module made a system call before its memory was bound");
    return new DataView(this.#memory.buffer);
  }

  #calls(): Calls {
    const none = (count: number, size: number): number => {
      const view = this.#view();
      view.setUint32(count, 0, true);
      view.setUint32(size, 0, true);
      return ok;
    };
    return {
      args_get: () => ok,
      args_sizes_get: none,
      environ_get: (pointers: number, bytes: number) => {
        this.#view().setUint32(pointers, bytes, true);
        new Uint8Array(this.#view().buffer, bytes).set(environment);
        return ok;
      },
      environ_sizes_get: (count: number, size: number) => {
        this.#view().setUint32(count, 1, true);
        this.#view().setUint32(size, environment.length, true);
        return ok;
      },
      clock_time_get: (id: number, _precision: bigint, at: number) => this.#clock(id, at),
      random_get: (at: number, n: number) => this.#random(at, n),
      fd_write: (fd: number, iovs: number, count: number, written: number) => this.#write(fd, iovs, count, written),
      poll_oneoff: (subscriptions: number, events: number, count: number, ready: number) =>
        this.#poll(subscriptions, events, count, ready),
      sched_yield: () => ok,
      proc_exit: (code: number) => {
        throw new GuestExit(code);
      },
      fd_close: () => badDescriptor,
      fd_prestat_get: () => badDescriptor,
      fd_prestat_dir_name: () => badDescriptor,
      fd_fdstat_get: () => notImplemented,
      fd_fdstat_set_flags: () => notImplemented,
      fd_read: () => notImplemented,
      fd_seek: () => notImplemented,
    };
  }

  #clock(id: number, at: number): number {
    // ID 0 is the wall clock, and ID 1 is the monotonic clock.
    const millis = id === 0 ? Date.now() : performance.now();
    this.#view().setBigUint64(at, BigInt(Math.round(millis * 1e6)), true);
    return ok;
  }

  #random(at: number, n: number): number {
    const { buffer } = this.#view();
    // The platform fills at most 65,536 bytes at a time.
    for (let i = 0; i < n; i += 65_536) {
      crypto.getRandomValues(new Uint8Array(buffer as ArrayBuffer, at + i, Math.min(65_536, n - i)));
    }
    return ok;
  }

  /**
   * Writes complete lines to the console. A Go runtime writes its crash reports to standard error.
   */
  #write(fd: number, iovs: number, count: number, written: number): number {
    if (fd !== 1 && fd !== 2) return badDescriptor;
    const view = this.#view();
    let text = this.#lines.get(fd) ?? "";
    let total = 0;
    for (let i = 0; i < count; i++) {
      const at = view.getUint32(iovs + 8 * i, true);
      const n = view.getUint32(iovs + 8 * i + 4, true);
      text += this.#decoder.decode(new Uint8Array(view.buffer, at, n));
      total += n;
    }
    const lines = text.split("\n");
    this.#lines.set(fd, lines.pop()!);
    for (const line of lines) (fd === 1 ? console.log : console.error)(line);
    view.setUint32(written, total, true);
    return ok;
  }

  /** Reports every polled subscription as ready, because the guest never blocks. */
  #poll(subscriptions: number, events: number, count: number, ready: number): number {
    const view = this.#view();
    for (let i = 0; i < count; i++) {
      const from = subscriptions + 48 * i;
      const to = events + 32 * i;
      view.setBigUint64(to, view.getBigUint64(from, true), true);
      view.setUint16(to + 8, ok, true);
      view.setUint8(to + 10, view.getUint8(from + 8));
    }
    view.setUint32(ready, count, true);
    return ok;
  }
}

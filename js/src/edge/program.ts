import type { Handler } from "./entry.js";
import { refuse, status } from "./refusal.js";

/** The class that Go's wasm_exec.js defines. */
export type GoClass = new () => {
  importObject: WebAssembly.Imports;
  exit: (code: number) => void;
  run(instance: WebAssembly.Instance): Promise<void>;
};

/**
 * Returns a handler that runs wasm/edge, the Go program that is the HTTP server of an edge. Each
 * request has its own instance, which ends with the response.
 */
export function goProgram<Env>(module: WebAssembly.Module, Go: GoClass): Handler<Env> {
  return async (request, env, context) => {
    const program = new Program(module, Go, { env, ctx: context });
    try {
      return await program.answer(request);
    } catch (error) {
      console.error("watchglass:", error);
      return refuse({ ...status(503, "ServiceUnavailable", "the edge could not complete the response; its log has the reason: try again"), retryAfterSeconds: 1 });
    }
  };
}

class Program {
  readonly #binding: { handleRequest?(request: Request): Promise<Response> } = {};
  readonly #ready: Promise<void>;
  /** Rejects when the program fails; never resolves. */
  readonly #failed: Promise<never>;

  constructor(module: WebAssembly.Module, Go: GoClass, given: { env: unknown; ctx: unknown }) {
    const go = new Go();
    let code = 0;
    go.exit = (exitCode) => (code = exitCode);
    let ready!: () => void;
    this.#ready = new Promise((resolve) => (ready = resolve));
    const instance = new WebAssembly.Instance(module, { ...go.importObject, workers: { ready } });
    // The program reads the property `context` before it first blocks, and therefore before `run`
    // returns.
    const scope = globalThis as { context?: unknown };
    scope.context = { ...given, binding: this.#binding };
    const ended = go.run(instance);
    delete scope.context;
    this.#failed = new Promise((_, reject) => {
      ended.then(() => code !== 0 && reject(new Error(`the program ended with code ${code}`)), reject);
    });
    this.#failed.catch(() => {}); // callers race #failed with other promises
  }

  async answer(request: Request): Promise<Response> {
    await Promise.race([this.#ready, this.#failed]);
    const response = await Promise.race([this.#binding.handleRequest!(request), this.#failed]);
    if (!response.body) return response;
    // The response of a program that fails midway must not look like a complete response.
    const broken = new AbortController();
    this.#failed.catch((error) => broken.abort(error));
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    response.body.pipeTo(writable, { signal: broken.signal }).catch(() => {}); // the other end's reader receives the error
    // Responses that the program compressed are sent unmodified.
    const init = { status: response.status, headers: response.headers, encodeBody: "manual" };
    return new Response(readable, init);
  }
}

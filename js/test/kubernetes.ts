import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** Returns a pod as it appears in a watch. */
export const pod = (name: string, rv: number, phase = "Running"): object => ({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { name, namespace: "default", uid: `u-${name}`, resourceVersion: String(rv), labels: { app: "web" }, managedFields: [{}] },
  status: { phase },
});

const bookmark = (rv: number): object => ({
  kind: "Pod",
  apiVersion: "v1",
  metadata: { resourceVersion: String(rv), annotations: { "k8s.io/initial-events-end": "true" } },
});

/**
 * A Kubernetes API with one pod. Its watches stay open, and tests send the events of these watches.
 */
export class Kubernetes {
  /** The newest version that the server has sent, which lists report. */
  #newest = 7;
  readonly requests: IncomingMessage[] = [];
  readonly #watches: ServerResponse[] = [];
  readonly #watched = new EventEmitter();
  /**
   * Called for each request before {@link answer}. If it returns true, it has responded, and {@link
   * answer} is not called.
   */
  instead: (request: IncomingMessage, response: ServerResponse) => boolean = () => false;
  #server = createServer((request, response) => {
    this.requests.push(request);
    if (!this.instead(request, response)) this.answer(request, response);
  });

  static async start(t: TestContext): Promise<Kubernetes> {
    const kubernetes = new Kubernetes();
    await new Promise<void>((resolve) => kubernetes.#server.listen(0, "127.0.0.1", resolve));
    t.after(() => {
      kubernetes.#server.closeAllConnections();
      kubernetes.#server.close();
    });
    return kubernetes;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/k8s/`;
  }

  /** Serves a request, regardless of its path. */
  answer({ url = "" }: IncomingMessage, response: ServerResponse): void {
    const query = new URL(url, "http://test").searchParams;
    if (url.endsWith("/namespaces/kube-system")) return void response.end(JSON.stringify({ metadata: { uid: "cluster-1" } }));
    if (!query.has("watch")) return void response.end(JSON.stringify({ kind: "PodList", metadata: { resourceVersion: `${this.#newest}` }, items: [] }));
    if (query.has("sendInitialEvents")) {
      this.send(response, "ADDED", pod("web-1", 5));
      this.send(response, "BOOKMARK", bookmark(7));
      return;
    }
    response.flushHeaders();
    this.#watches.push(response);
    this.#watched.emit("watch");
  }

  /**
   * Resolves with the response of the n-th watch, counted from 0, as soon as the watch has been
   * requested.
   */
  async watch(n: number): Promise<ServerResponse> {
    while (this.#watches.length <= n) await once(this.#watched, "watch");
    return this.#watches[n]!;
  }

  send(response: ServerResponse, type: string, object: { metadata?: { resourceVersion?: string } }): void {
    this.#newest = Math.max(this.#newest, Number(object.metadata?.resourceVersion ?? 0));
    response.write(`${JSON.stringify({ type, object })}\n`);
  }
}

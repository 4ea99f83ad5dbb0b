import { ListWatch } from "@kubernetes/client-node/dist/cache.js";

/**
 * The cache of @kubernetes/client-node without its network code. Like client-node's watch, this
 * class decodes the bytes, splits them into lines and parses the events.
 */
export class Peer {
  #decoder = new TextDecoder();
  #rest = "";
  #handler;
  updates = 0;

  static async open(list) {
    const peer = new Peer();
    const watch = {
      watch: async (_path, _query, handler) => {
        peer.#handler = handler;
        return { abort() {} };
      },
    };
    const informer = new ListWatch("/api/v1/pods", watch, async () => JSON.parse(peer.#decoder.decode(list)), false);
    informer.on("update", () => peer.updates++);
    informer.on("error", (error) => {
      throw error;
    });
    await informer.start();
    peer.informer = informer;
    return peer;
  }

  /** Feeds the next bytes of the watch to the cache. */
  receive(chunk) {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) {
      const event = JSON.parse(line);
      this.#handler(event.type, event.object, event);
    }
  }
}

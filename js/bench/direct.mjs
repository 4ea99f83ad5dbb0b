import { Ours } from "./ours.mjs";

/** The size of the pieces of a response, in bytes, as a network would deliver them. */
const pieceBytes = 64 << 10;

/**
 * Feeds recorded responses of a Kubernetes API to a guest in direct mode. The responses are one
 * complete list, which the peer reads as well, and then the bytes of one watch.
 */
export class Direct {
  #ours;
  #watch;

  static async open(module, list) {
    const direct = new Direct();
    const ours = (direct.#ours = await Ours.open(module, { kubernetes: "http://127.0.0.1:8001" }));
    direct.#answer("/api/v1/namespaces/kube-system", 404);
    direct.#answer("/api/v1/pods?resourceVersionMatch=NotOlderThan&watch=1&", 422);
    direct.#answer("/api/v1/pods?limit=500", 200, list);
    direct.#watch = ours.fetched("/api/v1/pods?watch=1&").stream;
    ours.send({ type: "Fetched", stream: direct.#watch, code: 200, retryAfterSeconds: 0 });
    // The guest delivers no events until this response confirms the cluster's identity.
    direct.#answer("/api/v1/namespaces/kube-system", 404);
    return direct;
  }

  get live() {
    return this.#ours.live;
  }

  get version() {
    return this.#ours.version;
  }

  get frames() {
    return this.#ours.frames;
  }

  attach(options) {
    this.#ours.attach(options);
  }

  /** Feeds the next bytes of the watch to the guest. */
  receive(data) {
    this.#ours.pass(this.#watch, data);
  }

  #answer(path, code, body = new Uint8Array()) {
    const { stream } = this.#ours.fetched(path);
    this.#ours.send({ type: "Fetched", stream, code, retryAfterSeconds: 0 });
    for (let at = 0; at < body.length; at += pieceBytes) {
      this.#ours.send({ type: "StreamData", stream, data: body.subarray(at, at + pieceBytes) });
    }
    this.#ours.send({ type: "StreamClosed", stream, message: "" });
  }
}

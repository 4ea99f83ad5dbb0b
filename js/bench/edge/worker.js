// Three Durable Objects that forward the events of a cluster: ours, a simple cache without
// watchglass, and a relay. The relay shows the cost of the runtime alone.
import { WatchglassObject } from "./edge.js";

export class Edge extends WatchglassObject {}

/** Parses and stores the received objects, and forwards the events. */
export class Plain {
  #state;
  #objects = new Map();

  constructor(state) {
    this.#state = state;
  }

  fetch(request) {
    const { 0: client, 1: server } = new WebSocketPair();
    this.#state.acceptWebSocket(server, [new URL(request.url).pathname.slice(1)]);
    return new Response(null, { status: 101, webSocket: client, headers: { "Sec-WebSocket-Protocol": "watchglass.v2" } });
  }

  webSocketMessage(_socket, message) {
    const lines = message.split("\n").map((line) => {
      const event = JSON.parse(line);
      const { namespace, name } = event.object.metadata;
      if (event.type === "DELETED") this.#objects.delete(`${namespace}/${name}`);
      else this.#objects.set(`${namespace}/${name}`, event.object);
      return JSON.stringify(event);
    });
    const text = lines.join("\n");
    for (const reader of this.#state.getWebSockets("watch")) reader.send(text);
  }

  webSocketClose() {}
}

/** Forwards messages without parsing them. */
export class Forward extends Plain {
  #state;

  constructor(state) {
    super(state);
    this.#state = state;
  }

  webSocketMessage(_socket, message) {
    for (const reader of this.#state.getWebSockets("watch")) reader.send(message);
  }
}

export default {
  fetch(request, env) {
    const url = new URL(request.url);
    const [, kind, name, ...rest] = url.pathname.split("/");
    url.pathname = `/${rest.join("/")}`;
    const inner = new Request(url, request);
    const [, token] = /^Bearer (.+)$/.exec(request.headers.get("Authorization") ?? "") ?? [];
    if (token) inner.headers.set("x-watchglass-grant", token);
    const objects = { plain: env.PLAIN, forward: env.FORWARD }[kind] ?? env.EDGE;
    return objects.get(objects.idFromName(name)).fetch(inner);
  },
};

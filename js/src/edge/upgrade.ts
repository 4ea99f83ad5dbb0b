import { subprotocol } from "../transport.js";
import type { HibernatableSocket } from "./platform.js";
import { refuse, status } from "./refusal.js";

/** Says what is wrong with a request that is to become a WebSocket. */
export function upgradeRefused(request: Request): Response | undefined {
  if (request.headers.get("Upgrade")?.toLowerCase() !== "websocket") {
    return refuse(status(426, "UpgradeRequired", `this is a WebSocket endpoint: connect with subprotocol ${subprotocol}`));
  }
  const offered = (request.headers.get("Sec-WebSocket-Protocol") ?? "").split(",").map((name) => name.trim());
  if (!offered.includes(subprotocol)) return refuse(status(400, "BadRequest", `the WebSocket subprotocol must be ${subprotocol}`));
  return undefined;
}

export function upgraded(client: HibernatableSocket): Response {
  const init = { status: 101, webSocket: client, headers: { "Sec-WebSocket-Protocol": subprotocol } };
  return new Response(null, init);
}

import { subprotocol } from "../subprotocol.js";
import { closeReason, type Dial } from "../transport.js";
import { messageOf } from "../errors.js";
import { grantHeader, type Grant } from "./grant.js";
import type { Upstream } from "./options.js";

/**
 * The maximum duration of a connection to another object, in seconds. The engine connects again
 * after this time.
 */
const grantSeconds = 24 * 60 * 60;

/** The client's end of a WebSocket that a fetch returned. */
interface ClientSocket extends WebSocket {
  accept(): void;
}

/** Returns a Dial for streams to another object, which serves this object like any other reader. */
export function upstreamDial({ object, cluster, resources, shard }: Upstream): Dial {
  return (_url, events) => {
    let socket: ClientSocket | undefined;
    let done = false;
    const end = (message: string): void => {
      if (done) return;
      done = true;
      events.closed(message);
    };
    const open = async (): Promise<void> => {
      const expires = Math.floor(Date.now() / 1000) + grantSeconds;
      const grant: Grant = { resources, namespaces: ["*"], expires, cluster, user: "region", feed: false };
      const headers = { Upgrade: "websocket", "Sec-WebSocket-Protocol": subprotocol, [grantHeader]: JSON.stringify(grant) };
      const response = await object().fetch(`https://object/watch${shard ? `?shard=${shard}` : ""}`, { headers });
      socket = (response as { webSocket?: ClientSocket }).webSocket;
      if (!socket) throw new Error(`the object returned ${response.status}: ${(await response.text()).slice(0, 200)}`);
      socket.binaryType = "arraybuffer";
      socket.accept();
      if (done) return socket.close(1000, "no longer needed");
      socket.addEventListener("message", ({ data }) => done || events.data(new Uint8Array(data as ArrayBuffer)));
      socket.addEventListener("close", ({ code, reason }) => end(reason || `the object ended the connection (WebSocket code ${code})`));
      events.opened();
    };
    open().catch((error) => end(`cannot read from the upstream object: ${messageOf(error)}`));
    return {
      // A closing socket would drop the message. The close event reports that the stream has ended.
      send: (message) => void (done || socket?.readyState !== 1 || socket.send(message as Uint8Array<ArrayBuffer>)),
      close(message) {
        done = true;
        socket?.close(1000, closeReason(message));
      },
    };
  };
}

import { messageOf } from "./errors.js";
import type { AskWhy } from "./refused.js";
import { maxMessage } from "./wire/codec.js";

/** The name under which both ends of a WebSocket agree on the protocol. */
export const subprotocol = "watchglass.v1";

/** Starts the name of a second subprotocol, which carries the token in base64url: a browser can say nothing else while it connects. Kubernetes' own name for it. */
export const bearerProtocol = "base64url.bearer.authorization.k8s.io.";

/** An open or opening stream of messages. */
export interface Stream {
  send(message: Uint8Array): void;
  /** Ends the stream; nothing more is heard of it. The message is for the other end's log. */
  close(message: string): void;
}

/** What is heard of a stream; never from within the call that opened it. `closed` comes at most once, and last. */
export interface StreamEvents {
  opened(): void;
  data(message: Uint8Array): void;
  closed(message: string): void;
}

/** Opens a stream, for the holder of a token, which may be empty. */
export type Dial = (url: string, events: StreamEvents, token: string) => Stream;

/** The constructor of WebSockets as browsers, Node 22, workerd and the package `ws` have it. */
export type WebSocketClass = new (url: string, protocols: string[]) => WebSocket;

function protocols(token: string): string[] {
  if (token === "") return [subprotocol];
  const bytes = Array.from(new TextEncoder().encode(token), (byte) => String.fromCharCode(byte)).join("");
  return [subprotocol, bearerProtocol + btoa(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "")];
}

/** Streams as WebSockets. Where the server cannot tell why it refuses one, it is asked. */
export function webSocketDial(Socket: WebSocketClass, askWhy?: AskWhy): Dial {
  return (url, events, token) => {
    let socket: WebSocket;
    try {
      socket = new Socket(url, protocols(token));
    } catch (error) {
      queueMicrotask(() => events.closed(`cannot connect to ${url}: ${messageOf(error)}`));
      return { send() {}, close() {} };
    }
    let open = false;
    let failing = false;
    let done = false;
    const asking = new AbortController();
    const end = (message: string): void => {
      if (done) return;
      done = true;
      events.closed(message);
    };
    const refuse = (message: string): void => {
      closeSocket(socket, message);
      end(message);
    };
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      if (done) return;
      if (socket.protocol !== subprotocol) return refuse(`${url} does not speak ${subprotocol}`);
      open = true;
      events.opened();
    };
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (done) return;
      if (!isArrayBuffer(data)) return refuse("protocol error: a text message where frames were expected");
      if (data.byteLength > maxMessage) return refuse(`protocol error: a message of ${data.byteLength} bytes, the limit is ${maxMessage}`);
      events.data(new Uint8Array(data));
    };
    const failed = async (why: string): Promise<void> => {
      if (done || failing) return;
      failing = true;
      const told = await askWhy?.(url, token, asking.signal);
      if (done) return;
      if (told) {
        events.opened();
        events.data(told);
      }
      end(`cannot connect to ${url} (${why})`);
    };
    // What went wrong a browser does not tell; the close event that follows says what
    // it may. Node before 24 has none for a connection that was never open.
    socket.onerror = () => void (open || setTimeout(() => failed("WebSocket error")));
    socket.onclose = ({ code, reason }) => {
      if (open) end(reason || `the connection was lost (WebSocket code ${code})`);
      else void failed(reason || `WebSocket code ${code}`);
    };
    return {
      send(message) {
        // A stream that is closing tells so by itself.
        if (!done && socket.readyState === 1) socket.send(message as Uint8Array<ArrayBuffer>);
      },
      close(message) {
        done = true;
        asking.abort();
        closeSocket(socket, message);
      },
    };
  };
}

/** Reports whether a value is an ArrayBuffer, of any realm: jsdom, iframes and Electron have several. */
function isArrayBuffer(data: unknown): data is ArrayBuffer {
  return Object.prototype.toString.call(data) === "[object ArrayBuffer]";
}

function closeSocket(socket: WebSocket, message: string): void {
  try {
    socket.close(1000, closeReason(message));
  } catch {
    // It is closed already.
  }
}

/** As much of a message as the protocol allows for a reason: 123 bytes. */
export function closeReason(message: string): string {
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= 120) return message;
  return new TextDecoder().decode(bytes.subarray(0, 120)).replace(/\ufffd+$/, "");
}

import { encodeBase64url } from "./base64url.js";
import { messageOf } from "./errors.js";
import { refusal, type FindRefusal } from "./refused.js";
import { firstSubprotocol, sameRelease, subprotocol, versionName, versionStatus } from "./subprotocol.js";
import type { Status } from "./types.js";
import { maxMessage } from "./wire/codec.js";

/**
 * The prefix of a second subprotocol, which carries the token in base64url. Browsers do not let
 * programs set other headers of a WebSocket request. Kubernetes uses the same prefix.
 */
export const bearerProtocol = "base64url.bearer.authorization.k8s.io.";

/** An open or opening stream of messages. */
export interface Stream {
  send(message: Uint8Array): void;
  /** Closes the stream. No callbacks follow. The message is for the other end's log. */
  close(message: string): void;
}

/**
 * The callbacks of a stream. No callback runs before the call that opens the stream returns.
 * `closed` is called at most once, and last.
 */
export interface StreamEvents {
  opened(): void;
  data(message: Uint8Array): void;
  closed(message: string): void;
}

/** A function that opens a stream with a token, which may be empty. */
export type Dial = (url: string, events: StreamEvents, token: string) => Stream;

/** The constructor of WebSockets in browsers, Node 22, workerd and the package `ws`. */
export type WebSocketClass = new (url: string, protocols: string[]) => WebSocket;

function protocols(token: string): string[] {
  const offered = [subprotocol, firstSubprotocol];
  if (token !== "") offered.push(bearerProtocol + encodeBase64url(new TextEncoder().encode(token)));
  return offered;
}

/**
 * How long a WebSocket may take to open, in milliseconds. Vite's development server, for
 * example, never answers requests for WebSockets that it does not forward.
 */
const openMillis = 15_000;

/**
 * Returns a Dial for WebSockets. If a WebSocket cannot be opened, `findRefusal` requests the
 * reason.
 */
export function webSocketDial(Socket: WebSocketClass, findRefusal?: FindRefusal): Dial {
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
    const finding = new AbortController();
    const end = (message: string): void => {
      if (done) return;
      done = true;
      clearTimeout(late);
      events.closed(message);
    };
    const explain = (frame: Uint8Array): void => {
      events.opened();
      events.data(frame);
    };
    const refuse = (message: string, status?: Status): void => {
      closeSocket(socket, message);
      if (status) explain(refusal(status));
      end(message);
    };
    const late = setTimeout(
      () => refuse(`${url} has not accepted a WebSocket for ${openMillis / 1000} s; check the URL, and that proxies and development servers forward WebSockets to the connector`),
      openMillis,
    );
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      if (done) return;
      if (socket.protocol !== subprotocol) return refuse(`${url} does not support ${subprotocol}: ${sameRelease}`, versionStatus(versionName.exec(socket.protocol)?.[0]));
      open = true;
      clearTimeout(late);
      events.opened();
    };
    socket.onmessage = ({ data }: MessageEvent<unknown>) => {
      if (done) return;
      if (!isArrayBuffer(data)) return refuse("protocol error: received a text message");
      if (data.byteLength > maxMessage) return refuse(`protocol error: a message of ${data.byteLength} bytes, the limit is ${maxMessage}`);
      events.data(new Uint8Array(data));
    };
    const failed = async (why: string): Promise<void> => {
      if (done || failing) return;
      failing = true;
      const frame = await findRefusal?.(url, token, finding.signal);
      if (done) return;
      if (frame) explain(frame);
      end(`cannot connect to ${url} (${why})`);
    };
    // Browsers do not expose the error. The close event that follows has the available details.
    // Node before 24 sends no close event for a connection that was never open.
    socket.onerror = () => void (open || setTimeout(() => failed("WebSocket error")));
    socket.onclose = ({ code, reason }) => {
      if (open) end(reason || `the connection was lost (WebSocket code ${code})`);
      else void failed(reason || `WebSocket code ${code}`);
    };
    return {
      send(message) {
        // A closing socket would drop the message. The close event then ends the stream.
        if (!done && socket.readyState === 1) socket.send(message as Uint8Array<ArrayBuffer>);
      },
      close(message) {
        done = true;
        clearTimeout(late);
        finding.abort();
        closeSocket(socket, message);
      },
    };
  };
}

/**
 * Reports whether a value is an ArrayBuffer from any realm. Iframes, jsdom and Electron have
 * several realms, so instanceof is unreliable.
 */
function isArrayBuffer(data: unknown): data is ArrayBuffer {
  return Object.prototype.toString.call(data) === "[object ArrayBuffer]";
}

function closeSocket(socket: WebSocket, message: string): void {
  try {
    socket.close(1000, closeReason(message));
  } catch {
    // The socket is already closed.
  }
}

/** Truncates a message to 120 bytes. The WebSocket protocol allows 123. */
export function closeReason(message: string): string {
  const bytes = new TextEncoder().encode(message);
  if (bytes.length <= 120) return message;
  return new TextDecoder().decode(bytes.subarray(0, 120)).replace(/\ufffd+$/, "");
}

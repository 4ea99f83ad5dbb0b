// The frames of the reader's protocol that an object itself reads or writes. It
// passes all others between the engine, the connector and the readers.

import type { Status } from "../types.js";
import { concat, Reader, readerFrames, split, Writer } from "../wire/codec.js";
import { schema } from "../wire/outputs.js";
import { writeSubscriptionStatus } from "../wire/status.js";

/** Yields the resources of a connector's message, with the history of each. */
export function* sources(message: Uint8Array): Generator<{ resource: string; source: string }, void, void> {
  for (const { type, payload } of split(message)) {
    if (type !== readerFrames.Schema) continue;
    const r = new Reader(payload, "Schema");
    r.uint32();
    const { group, version, resource } = schema(r);
    r.uvarint();
    yield { resource: `${group && `${group}/`}${version}/${resource}`, source: r.text() };
  }
}

/**
 * Counts the frames of a reader's message and the subscriptions among them. For an
 * invalid message it counts the valid frames, and the engine refuses the message.
 */
export function countFrames(message: Uint8Array): { frames: number; subscriptions: number } {
  const count = { frames: 0, subscriptions: 0 };
  try {
    for (const { type } of split(message)) {
      count.frames++;
      if (type === readerFrames.Subscribe) count.subscriptions++;
    }
  } catch {
    // The engine refuses the rest.
  }
  return count;
}

/** The subject of a subscription. */
export interface Subscribed {
  resource: string;
  /** Empty for all namespaces. */
  namespace: string;
  metadataOnly: boolean;
}

/** Removes the refused subscriptions from a reader's message. */
export function refuseSubscriptions(message: Uint8Array, refused: (subscribed: Subscribed) => Status | undefined): { left: Uint8Array; answers: Uint8Array } {
  const answers = new Writer();
  const left: Uint8Array[] = [];
  for (const { type, payload, bytes } of split(message)) {
    const status = type === readerFrames.Subscribe ? refused(subscribed(payload)) : undefined;
    if (status) writeSubscriptionStatus(answers, new Reader(payload, "Subscribe").uint32(), status);
    else left.push(bytes);
  }
  return { left: answers.length > 0 ? concat(left) : message, answers: answers.take() };
}

function subscribed(payload: Uint8Array): Subscribed {
  const r = new Reader(payload, "Subscribe");
  r.uint32();
  const [resource, namespace] = [r.text(), r.text()];
  for (let i = 0; i < 2; i++) r.text();
  r.resourceVersion();
  r.resourceVersion();
  r.text();
  r.resourceVersion();
  r.resourceVersion();
  return { resource, namespace, metadataOnly: r.bool() };
}

/** Writes a Ping with a mark, which the reader returns after reading it. */
export function writePing(w: Writer, mark: number): void {
  w.frame(readerFrames.Ping, () => w.uvarint(mark));
}

/**
 * Yields the marks of the Pong frames in a reader's message, up to the first invalid
 * frame, which the engine reports.
 */
export function* pongs(message: Uint8Array): Generator<number | bigint, void, void> {
  try {
    for (const { type, payload } of split(message)) if (type === readerFrames.Pong) yield new Reader(payload, "Pong").uvarint();
  } catch {
    // The engine refuses the rest.
  }
}

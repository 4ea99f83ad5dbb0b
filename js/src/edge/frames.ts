// The few frames of the reader's protocol that an object looks into, or writes,
// itself. Everything else is between the engine, its connector and its readers.

import type { Status } from "../types.js";
import { concat, Reader, split, Writer } from "../wire/codec.js";
import { schema } from "../wire/outputs.js";
import { writeSubscriptionStatus } from "../wire/status.js";

const subscribe = 0x02;
const pong = 0x86;
const schemaFrame = 0x11;
const ping = 0x9c;

/** Which histories the messages of a connector speak of, by resource. */
export function* sources(message: Uint8Array): Generator<{ resource: string; source: string }, void, void> {
  for (const { type, payload } of split(message)) {
    if (type !== schemaFrame) continue;
    const r = new Reader(payload, "Schema");
    r.uint32();
    const { group, version, resource } = schema(r);
    r.uvarint();
    yield { resource: `${group && `${group}/`}${version}/${resource}`, source: r.text() };
  }
}

/** How many frames a reader's message has, and how many of them open a subscription. Of a message that is not valid the valid frames count; the engine refuses it. */
export function countFrames(message: Uint8Array): { frames: number; subscriptions: number } {
  const count = { frames: 0, subscriptions: 0 };
  try {
    for (const { type } of split(message)) {
      count.frames++;
      if (type === subscribe) count.subscriptions++;
    }
  } catch {
    // See above.
  }
  return count;
}

/** What a subscription is to. */
export interface Subscribed {
  resource: string;
  /** Empty for all. */
  namespace: string;
  metadataOnly: boolean;
}

/** Takes those subscriptions out of a reader's message that are refused. */
export function refuseSubscriptions(message: Uint8Array, refused: (subscribed: Subscribed) => Status | undefined): { left: Uint8Array; answers: Uint8Array } {
  const answers = new Writer();
  const left: Uint8Array[] = [];
  for (const { type, payload, bytes } of split(message)) {
    const status = type === subscribe ? refused(subscribed(payload)) : undefined;
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

/** Asks a reader how far it has come. */
export function writePing(w: Writer, mark: number): void {
  w.frame(ping, () => w.uvarint(mark));
}

/** The marks that a reader says it has come to. What breaks the protocol is none; the engine says how it does. */
export function* pongs(message: Uint8Array): Generator<number | bigint, void, void> {
  try {
    for (const { type, payload } of split(message)) if (type === pong) yield new Reader(payload, "Pong").uvarint();
  } catch {
    // See above.
  }
}

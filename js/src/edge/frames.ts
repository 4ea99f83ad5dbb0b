// The frames of the reader's protocol that an object reads or writes. The object forwards all other
// frames between the engine, the connector and the readers.

import type { Status } from "../types.js";
import { concat, Reader, readerFrames, split, Writer } from "../wire/codec.js";
import { schema } from "../wire/outputs.js";
import { writeSubscriptionStatus } from "../wire/status.js";

/** The frame types that only the edge uses, in addition to {@link readerFrames}. */
const more = { Unsubscribe: 0x03, SnapshotPart: 0x15, Events: 0x17, SnapshotBlock: 0x1e, SnapshotBodies: 0x1f, SavedSubscription: 0x31, ChooseColumns: 0x88 } as const;

/** A schema in a connector's message, with the cluster ID of the resource. */
export interface Described {
  subscription: number;
  resource: string;
  clusterID: string;
}

/** Yields the schemas of a connector's message, and the sizes of the frames that contain objects. */
export function* contents(message: Uint8Array): Generator<Described | { subscription: number; bytes: number; changes: boolean }, void, void> {
  for (const { type, payload, bytes } of split(message)) {
    if (type !== readerFrames.Schema && !objectFrames.has(type)) continue;
    const r = new Reader(payload, "Schema");
    const subscription = r.uint32();
    if (type !== readerFrames.Schema) {
      yield { subscription, bytes: bytes.length, changes: type === more.Events };
      continue;
    }
    const { group, version, resource } = schema(r);
    r.uvarint();
    yield { subscription, resource: `${group && `${group}/`}${version}/${resource}`, clusterID: r.text() };
  }
}

const objectFrames: ReadonlySet<number> = new Set([more.SnapshotPart, more.Events, more.SnapshotBlock, more.SnapshotBodies]);

/** A request of a reader that begins or ends a subscription. */
export interface SubscriptionChange {
  subscription: number;
  /** The resource of a new subscription; undefined if a subscription ends. */
  resource?: string;
}

/**
 * Counts the frames of a reader's message and the subscriptions that they begin, and returns the
 * subscriptions that begin or end. In an invalid message, the function counts only the frames up to
 * the first invalid one. The engine refuses such a message.
 */
export function countFrames(message: Uint8Array): { frames: number; subscriptions: number; changes: SubscriptionChange[] } {
  const count = { frames: 0, subscriptions: 0, changes: [] as SubscriptionChange[] };
  try {
    for (const { type, payload } of split(message)) {
      count.frames++;
      if (type === readerFrames.Subscribe) count.subscriptions++;
      if (type === readerFrames.Subscribe || type === more.Unsubscribe) count.changes.push(subscriptionChange(type, payload));
    }
  } catch {
    // The engine refuses the rest.
  }
  return count;
}

function subscriptionChange(type: number, payload: Uint8Array): SubscriptionChange {
  const r = new Reader(payload, "Subscribe");
  const subscription = r.uint32();
  return type === more.Unsubscribe ? { subscription } : { subscription, resource: r.text() };
}

/** Returns the subscriptions in a reader's saved state, up to the first invalid frame. */
export function savedSubscriptions(saved: Uint8Array): SubscriptionChange[] {
  const all: SubscriptionChange[] = [];
  try {
    for (const { type, payload } of split(saved)) if (type === more.SavedSubscription) all.push(subscriptionChange(type, payload));
  } catch {
    // The engine refuses the state.
  }
  return all;
}

/** Yields the subscriptions that a message to a reader ends, each with its code and cause. */
export function* endings(message: Uint8Array): Generator<{ subscription: number; code: number; cause: string }, void, void> {
  for (const { type, payload } of split(message)) {
    if (type !== readerFrames.SubscriptionStatus) continue;
    const r = new Reader(payload, "SubscriptionStatus");
    const [subscription, code] = [r.uint32(), r.uint32()];
    for (let i = 0; i < 2; i++) r.text();
    yield { subscription, code, cause: r.text() };
  }
}

/** The data that a subscription selects. */
export interface Subscribed {
  resource: string;
  /** Empty for all namespaces. */
  namespace: string;
  /** Whether no bodies are sent, and no columns are computed from bodies. */
  metadataOnly: boolean;
}

/**
 * Removes the refused subscriptions from a reader's message. Returns the rest of the
 * message, and the responses to the reader.
 */
export function refuseSubscriptions(message: Uint8Array, refused: (subscribed: Subscribed) => Status | undefined): { left: Uint8Array; answers: Uint8Array } {
  const answers = new Writer();
  const left: Uint8Array[] = [];
  let chosen: number | undefined; // the subscription whose columns the reader chose
  for (const { type, payload, bytes } of split(message)) {
    if (type === more.ChooseColumns) chosen = new Reader(payload, "ChooseColumns").uint32();
    const status = type === readerFrames.Subscribe ? refused(subscribed(payload, chosen)) : undefined;
    if (status) writeSubscriptionStatus(answers, new Reader(payload, "Subscribe").uint32(), status);
    else left.push(bytes);
  }
  return { left: answers.length > 0 ? concat(left) : message, answers: answers.take() };
}

function subscribed(payload: Uint8Array, chosen: number | undefined): Subscribed {
  const r = new Reader(payload, "Subscribe");
  const subscription = r.uint32();
  const [resource, namespace] = [r.text(), r.text()];
  for (let i = 0; i < 2; i++) r.text();
  r.resourceVersion();
  r.resourceVersion();
  r.text();
  r.resourceVersion();
  r.resourceVersion();
  return { resource, namespace, metadataOnly: r.bool() && subscription !== chosen };
}

/** Writes a Ping with a mark. The reader returns the mark in a Pong after it has read the Ping. */
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

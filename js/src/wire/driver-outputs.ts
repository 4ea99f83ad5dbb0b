import type { Status } from "../types.js";
import { Reader, type Frame } from "./codec.js";
import { deliveryParsers, parse, status, type Delivery, type Parsers } from "./outputs.js";

/**
 * The outputs from the engine to the driver that runs it: intents for streams and timers,
 * and the readers of an edge.
 */
type Intent =
  | { type: "OpenStream"; stream: number }
  | { type: "SendStream"; stream: number; data: Uint8Array }
  | { type: "CloseStream"; stream: number; message: string }
  | { type: "WakeAt"; millis: number }
  | { type: "Fetch"; stream: number; path: string }
  | { type: "SendReader"; reader: number; data: Uint8Array }
  | { type: "CloseReader"; reader: number; status: Status | undefined }
  | { type: "SavedReader"; reader: number; data: Uint8Array }
  | { type: "ReaderStalled"; reader: number; stalled: boolean };

/** All outputs from the engine. */
export type Output = Delivery | Intent;

export const outputParsers: Parsers<Output> = {
  ...deliveryParsers,
  0x60: ["OpenStream", (r) => ({ stream: r.uint32() })],
  0x61: ["SendStream", (r) => ({ stream: r.uint32(), data: r.bytes() })],
  0x62: ["CloseStream", (r) => ({ stream: r.uint32(), message: r.text() })],
  0x63: ["WakeAt", (r) => ({ millis: r.varint() })],
  0x72: ["SendReader", (r) => ({ reader: r.uint32(), data: r.bytes() })],
  0x73: ["CloseReader", (r) => ({ reader: r.uint32(), status: status(r) })],
  0x74: ["SavedReader", (r) => ({ reader: r.uint32(), data: r.bytes() })],
  0x75: ["Fetch", (r) => ({ stream: r.uint32(), path: r.text() })],
  0x76: ["ReaderStalled", (r) => ({ reader: r.uint32(), stalled: r.bool() })],
};

/** Parses a frame of the engine. Returns undefined for an unknown type that is optional. */
export const readOutput = (frame: Frame): Output | undefined => parse(frame, outputParsers);

/**
 * Returns the ID of the resource or reader that receives an output, without parsing the rest.
 * Returns undefined for an intent that concerns only the driver.
 */
export function recipient(frame: Frame): number | undefined {
  if (frame.type < 0x64 || frame.type === 0x75) return undefined;
  const r = new Reader(frame.payload, outputParsers[frame.type]?.[0] ?? "unknown");
  if (frame.type === 0x6a) r.byte();
  return r.uint32();
}

import { WatchglassError } from "../errors.js";
import { Reader, split, type Frame } from "../wire/codec.js";
import { Match, Policy, Tristate } from "../wire/commands.js";
import { commandTypes, type Command } from "../wire/driver-commands.js";
import { decodeCanonicalBase64url } from "../base64url.js";
import { status } from "./refusal.js";

/** A command that the edge's HTTP server may send to an object. */
export type ReadCommand = Command & { type: "Get" | "List" | "OpenWatch" };

/**
 * Parses a command of core/wire, which is one frame in base64url. The caller replaces the IDs of
 * the command. Throws a 400 for other input. Invalid input must not reach the engine, which would
 * remove the member that serves all requests.
 */
export function readCommand(text: string | null): ReadCommand {
  const [frame, ...more] = frames(text);
  const r = frame && new Reader(frame.payload, "command");
  try {
    const command = r && more.length === 0 ? readPayload(frame.type, r) : undefined;
    if (command && r?.at === frame!.payload.length) return command;
  } catch (error) {
    if (!(error instanceof WatchglassError)) throw error;
    throw invalid(error.message);
  }
  throw invalid("expected one Get, List or OpenWatch frame in base64url");
}

function frames(text: string | null): Frame[] {
  const message = decodeCanonicalBase64url(text ?? "");
  try {
    return message ? [...split(message)] : [];
  } catch {
    return []; // truncated
  }
}

function readPayload(type: number, r: Reader): ReadCommand | undefined {
  switch (type) {
    case commandTypes.Get:
      return { type: "Get", request: r.uint32(), collection: r.uint32(), key: r.text() };
    case commandTypes.List:
      return {
        type: "List",
        request: r.uint32(),
        collection: r.uint32(),
        ...readScope(r),
        limit: r.uint32(),
        continue: r.text(),
        bodies: r.bool(),
      };
    case commandTypes.OpenWatch:
      return {
        type: "OpenWatch",
        watch: r.uint32(),
        collection: r.uint32(),
        ...readScope(r),
        sendInitialEvents: r.option(Tristate.true + 1),
        bookmarks: r.bool(),
        timeoutSeconds: r.uint32(),
        bodies: r.bool(),
        policy: r.option(Policy.stall + 1),
        credit: r.uint32(),
        previous: r.bool(),
      };
  }
  return undefined;
}

/** Reads the fields that lists and watches share. */
function readScope(r: Reader): Pick<Command & { type: "List" }, "namespace" | "labelSelector" | "fieldSelector" | "resourceVersion" | "match"> {
  return { namespace: r.text(), labelSelector: r.text(), fieldSelector: r.text(), resourceVersion: r.text(), match: r.option(Match.Exact + 1) };
}

function invalid(why: string): WatchglassError {
  return new WatchglassError(status(400, "BadRequest", `the parameter command is invalid: ${why}`));
}

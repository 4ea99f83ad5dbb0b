import type { Column } from "../types.js";
import { Reader } from "../wire/codec.js";
import type { MemberCommand } from "../wire/commands.js";
import { columnKinds } from "../wire/outputs.js";

type Open = Omit<MemberCommand & { type: "OpenCollection" }, "type" | "collection" | "restore">;

/** The options that determine the contents of a collection. */
export interface Scope {
  /** The options as JSON, which is equal for collections with the same contents. */
  readonly key: string;
  readonly open: Open;
}

/**
 * Reads an OpenCollection command. Returns undefined for a collection that is never stored:
 * Secrets, or a collection whose state the page restores itself.
 */
export function readScope(payload: Uint8Array): { collection: number; scope: Scope } | undefined {
  const r = new Reader(payload, "OpenCollection");
  const collection = r.uint32();
  const [resource, namespace, labelSelector, fieldSelector] = [r.text(), r.text(), r.text(), r.text()];
  const [metadataOnly, rowsFirst, restore] = [r.bool(), r.bool(), r.bool()];
  if (restore || resource.split("/").pop() === "secrets") return undefined;
  const columns = r.list(6, (): Column => ({ name: r.text(), kind: r.oneOf(columnKinds), path: r.text(), priority: r.byte(), printer: r.text(), default: r.text() }));
  const open = { resource, namespace, labelSelector, fieldSelector, metadataOnly, columns };
  return { collection, scope: { key: JSON.stringify(Object.values(open)), open: { ...open, rowsFirst } } };
}

import { internalError, messageOf } from "./errors.js";
import type { KubeObject, Row, Schema } from "./types.js";
import { Codec, splitKey, type Envelope, type Item } from "./wire/item.js";

const decoder = new TextDecoder();

/**
 * Returns the object of an item. Each call parses the body again, so the caller owns the object.
 */
export function toObject<T extends object>(item: Item, schema: Schema | undefined): T {
  const envelope = item.envelope();
  if (envelope.codec === Codec.none) return metadataOnly(item, envelope, schema) as object as T;
  try {
    const object = JSON.parse(decoder.decode(envelope.body)) as KubeObject;
    // Stored bodies omit the resource version of the object, so it is set from the item.
    object.metadata.resourceVersion = item.resourceVersion;
    return object as object as T;
  } catch (error) {
    throw internalError(`${envelope.key}: the body is not a JSON object: ${messageOf(error)}`, error);
  }
}

/**
 * Returns the parts of an object that are known without its body, as a
 * PartialObjectMetadata.
 */
function metadataOnly(item: Item, { key, uid }: Envelope, schema: Schema | undefined): KubeObject {
  const { namespace, name } = splitKey(key);
  const { "": _, ...labels } = item.labels(); // "" is the owner, see toRow
  return {
    apiVersion: [schema?.group, schema?.version].filter(Boolean).join("/"),
    kind: schema?.kind ?? "",
    metadata: {
      name,
      ...(namespace && { namespace }),
      uid,
      resourceVersion: item.resourceVersion,
      ...(Object.keys(labels).length > 0 && { labels }),
    },
  };
}

/** Returns the frozen row of an item. */
export function toRow(item: Item, schema: Schema | undefined): Row {
  const { key, uid, fields, columns, times } = item.envelope();
  // The label with the empty key contains the owner: its kind, name and UID, or the UID alone.
  const { "": text, ...labels } = item.labels();
  const [, kind, name, owner = text] = /^([^/]+)\/([^/]+)\/(.*)/.exec(text!) ?? [];
  const time = (member: string) => columns.find((cell, i) => (cell as number) > 0 && schema?.columns[i]?.path === `.metadata.${member}Timestamp`) as number | undefined;
  return Object.freeze({
    key,
    ...splitKey(key),
    uid,
    owner,
    ownerReference: (kind && { kind, name, uid: owner }) as Row["ownerReference"],
    creationTime: time("creation"),
    deletionTime: time("deletion"),
    resourceVersion: item.resourceVersion,
    labels: Object.freeze(labels),
    fields: Object.freeze(fields),
    columns: Object.freeze(columns),
    times: Object.freeze(times),
    // Building the cells later in a getter takes more memory and time, because each row needs its
    // own function.
    cells: Object.freeze(Object.fromEntries(columns.map((cell, i) => [schema?.columns[i]?.name ?? i, cell]))),
  });
}

/** Reports whether two rows with the same key have the same contents. */
export function sameRow(a: Row, b: Row): boolean {
  return a.uid === b.uid && a.resourceVersion === b.resourceVersion && a.columns.every((cell, i) => Object.is(cell, b.columns[i]));
}

/** Freezes a value and everything in it, so that several users can share it. Returns the value. */
export function frozen<T>(value: T): T {
  if (typeof value === "object") Object.values(value ?? {}).forEach(frozen);
  return Object.freeze(value);
}

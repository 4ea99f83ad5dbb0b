/** Types of objects, schemas and errors, and the options that calls and queries share. */

/** A resource version: an unsigned 64-bit integer as a decimal string. */
export type ResourceVersion = string;

/** How current a collection is. The existing data remains available in every state. */
export type State = "connecting" | "syncing" | "live" | "reconnecting" | "stale" | "forbidden" | "closed";

/** An error in the format of a Kubernetes Status. */
export interface Status {
  code: number;
  reason: string;
  message: string;
  cause?: string;
  retryAfterSeconds?: number;
  /**
   * Set with a 410 for an expired continue token: a token that continues the list at the same key,
   * in the latest state.
   */
  continue?: string;
}

/** Metadata that every Kubernetes object has. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: ResourceVersion;
  labels?: Record<string, string>;
  [member: string]: unknown;
}

/**
 * Any Kubernetes object. Programs can pass a more specific type, such as V1Pod, as a type
 * parameter.
 */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [member: string]: unknown;
}

/** A table cell. Dates are in milliseconds since the epoch, and durations in milliseconds. */
export type Cell = string | number | boolean | null;

export interface Column {
  name: string;
  kind: "null" | "bool" | "integer" | "number" | "date" | "string" | "duration";
  /** The JSONPath of the value, or the arguments of the printer. */
  path: string;
  /**
   * Narrow tables show only columns of priority 0. Columns of priority 255 come last, and no table
   * shows them.
   */
  priority: number;
  /** The function that computes the cells; "" for the value at `path`, "join" for a column of another resource. */
  printer: string;
  /** The text that tables show for a null cell. */
  default: string;
}

/** The fields and columns of a collection's objects, for selectors and tables. */
export interface Schema {
  group: string;
  version: string;
  resource: string;
  kind: string;
  namespaced: boolean;
  fields: string[];
  columns: Column[];
}

export interface Selectors {
  namespace?: string;
  labelSelector?: string;
  fieldSelector?: string;
}

/** Options of a call that waits. When the signal is aborted, the call rejects with the signal's reason. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

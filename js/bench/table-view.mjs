// The React table that each side of table.mjs shows.
import { createElement as h, memo } from "react";
import { createRoot } from "react-dom/client";

/** The number of visible rows. */
export const visible = 50;

/**
 * A row: `{ key, version, cells }`. React renders the row again only if its version has changed.
 */
const Row = memo(({ row }) => h("tr", null, row.cells.map((cell, i) => h("td", { key: i }, cell))), (a, b) => a.row.key === b.row.key && a.row.version === b.row.version);

export const Table = ({ rows }) => h("table", null, h("tbody", null, rows.map((row) => h(Row, { key: row.key, row }))));

/** Renders a component into the page. */
export function show(component) {
  const root = document.body.appendChild(document.createElement("div"));
  createRoot(root).render(component);
}

/** Returns the row for a pod, for {@link Table}. */
export function rowOf({ metadata: { namespace, name, resourceVersion }, spec, status }) {
  const key = `${namespace}/${name}`;
  const ready = (status.containerStatuses ?? []).filter(({ ready }) => ready).length;
  return { key, version: resourceVersion, cells: [namespace, name, `${ready}/${spec.containers.length}`, status.phase, restartsOf(status), spec.nodeName] };
}

/** Returns the restarts of a pod: the sum over its containers, as kubectl shows it. */
export function restartsOf({ containerStatuses = [] }) {
  let restarts = 0;
  for (const { restartCount } of containerStatuses) restarts += restartCount;
  return restarts;
}

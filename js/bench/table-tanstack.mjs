// One side of the comparison in table.mjs: a live query over a TanStack DB collection. A stream of
// changes feeds the collection, as in Electric's collection. A row contains only the values that
// the table shows.
import { createCollection } from "@tanstack/db";
import { useLiveQuery } from "@tanstack/react-db";
import { createElement as h } from "react";
import { restartsOf, rowOf, show, Table, visible } from "./table-view.mjs";

const decoder = new TextDecoder();
let updates = 0;
let objects = 0;

const stored = (pod) => ({ ...rowOf(pod), restarts: restartsOf(pod.status) });

/** Writes a batch of changes in one transaction. */
const receive = ({ begin, write, commit }, data) => {
  begin();
  for (const line of decoder.decode(data).split("\n")) {
    if (!line) continue;
    write({ type: "update", value: stored(JSON.parse(line).object) });
    updates++;
  }
  commit();
};

const pods = createCollection({
  id: "pods",
  getKey: ({ key }) => key,
  sync: {
    rowUpdateMode: "full",
    sync: (writer) => {
      void (async () => {
        const { items } = await (await fetch("/list.json")).json();
        writer.begin();
        for (const pod of items) writer.write({ type: "insert", value: stored(pod) });
        writer.commit();
        objects = items.length;
        const socket = new WebSocket("/tanstack");
        socket.binaryType = "arraybuffer";
        socket.onmessage = ({ data }) => receive(writer, data);
        socket.onopen = () => writer.markReady();
      })();
    },
  },
});

function Pods() {
  const { data } = useLiveQuery((q) => q.from({ pod: pods }).orderBy(({ pod }) => pod.restarts, "desc").orderBy(({ pod }) => pod.key).limit(visible));
  return h(Table, { rows: data ?? [] });
}

show(h(Pods));
globalThis.shown = () => (document.querySelector("tr") ? objects + updates : 0);

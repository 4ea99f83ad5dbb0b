// A live table of pods: search, sorting, counts by phase, expandable groups, connection state.
import { Fragment, useState } from "react";
import { createRoot } from "react-dom/client";
import { createClient, type Cell, type Condition, type Row } from "watchglass";
import { useView, WatchglassProvider } from "watchglass/react";

const client = createClient("/watch");
const limit = 50;

function Pods() {
  const [search, setSearch] = useState("");
  const [sort, setSort] = useState("-Restarts");
  const [phase, setPhase] = useState("");
  const [by, setBy] = useState("");
  const [open, setOpen] = useState<string>();
  const [offset, setOffset] = useState(0);
  const chosen: Condition[] = phase ? [["status.phase", "=", phase]] : [];
  const inGroup: Condition[] = open === undefined ? [] : [open ? [by, "===", open] : { not: [by, "exists"] }];
  const { rows, total, facets, state, error, schema } = useView("v1/pods", { search, where: { and: [...chosen, ...inGroup] }, facets: ["status.phase"], sort, offset, limit });
  const { groups } = useView("v1/pods", { search, where: { and: chosen }, groupBy: by ? [by] : [], aggregates: ["Restarts"], limit: 0 });
  const columns = schema?.columns.filter((column) => column.priority === 0) ?? [];
  const names = ["namespace", "name", ...columns.map((column) => column.name)];
  const from = (change: () => void) => () => (change(), setOffset(0));
  const shown = rows.map((row: Row) => (
    <tr key={row.uid}><td>{row.namespace}</td><td>{row.name}</td>{columns.map((column) => <td key={column.name}>{text(row.cells[column.name], column.kind)}</td>)}</tr>
  ));
  return (
    <main>
      <h1>Pods</h1>
      <p role="status" data-state={state}>{state}, {total} pods {error && <em role="alert">{error.message}</em>}</p>
      <label>Search <input value={search} placeholder="web -test" onChange={(event) => from(() => setSearch(event.target.value))()} /></label>
      <label>Group by <select value={by} onChange={(event) => from(() => (setBy(event.target.value), setOpen(undefined)))()}><option value="">nothing</option><option>namespace</option><option>spec.nodeName</option></select></label>
      <nav aria-label="Phases">
        {facets["status.phase"]?.values.map(([value, n]) => (
          <button key={value} aria-pressed={value === phase} onClick={from(() => setPhase(value === phase ? "" : value))}>{value || "(none)"} {n}</button>
        ))}
      </nav>
      <table>
        <thead><tr>{names.map((name) => (
          <th key={name} aria-sort={!sort.endsWith(name) ? "none" : sort === name ? "ascending" : "descending"}>
            <button onClick={from(() => setSort(sort === name ? `-${name}` : name))}>{name}</button>
          </th>
        ))}</tr></thead>
        <tbody>{!by ? shown : groups?.values.map(({ values: [value], rows, aggregates: [restarts] }) => (
          <Fragment key={value}><tr><th colSpan={names.length}><button aria-expanded={value === open} onClick={from(() => setOpen(value === open ? undefined : value))}>{value || "(none)"}: {rows} pods, {restarts?.sum} restarts</button></th></tr>{value === open && shown}</Fragment>
        ))}</tbody>
      </table>
      <button disabled={offset === 0} onClick={() => setOffset(offset - limit)}>Previous</button>
      <button disabled={offset + limit >= total} onClick={() => setOffset(offset + limit)}>Next</button>
    </main>
  );
}

function text(cell: Cell | undefined, kind: string): string {
  return kind === "date" && cell ? new Date(cell as number).toLocaleString() : String(cell ?? "");
}

createRoot(document.getElementById("root")!).render(<WatchglassProvider client={client}><Pods /></WatchglassProvider>);

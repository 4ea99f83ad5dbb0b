// A live table of pods: search, sorting, expandable groups, and the state of the connection.
import { useState } from "react";
import { createRoot } from "react-dom/client";
import { createClient, type Group, type ViewOptions } from "watchglass";
import { groupQuery } from "watchglass/groups";
import { useView, WatchglassProvider } from "watchglass/react";

const client = createClient("/watch");
const columns = ["Namespace", "Name", "Ready", "Status", "Restarts", "Node"];

function Pods() {
  const [search, setSearch] = useState("");
  const [sort, setSort] = useState("-Restarts");
  const [groupBy, setGroupBy] = useState("");
  const query = { search, sort, groupBy: groupBy ? [groupBy] : [], aggregates: ["Restarts"], limit: 0 };
  const { state, total, groups, error } = useView("v1/pods", query);
  return <>
    <p role="status" data-state={state}>{state}, {total} pods <em role="alert">{error?.message}</em></p>
    <label>Search <input type="search" value={search} onChange={(e) => setSearch(e.target.value)} /></label>
    <label>Group by <select value={groupBy} onChange={(e) => setGroupBy(e.target.value)}>
      <option value="">nothing</option><option>Namespace</option><option>Status</option><option>Node</option>
    </select></label>
    <table>
      <thead><tr>{columns.map((name) => (
        <th key={name} aria-sort={sort === name ? "ascending" : sort === `-${name}` ? "descending" : "none"}>
          <button onClick={() => setSort(sort === name ? `-${name}` : name)}>{name}</button>
        </th>
      ))}</tr></thead>
      {!groups && <Rows query={{ search, sort }} />}
      {groups?.values.map((group) => <GroupRows key={groupBy + group.values} query={query} group={group} />)}
    </table>
  </>;
}

function GroupRows({ query, group }: { query: ViewOptions; group: Group }) {
  const [open, setOpen] = useState(false);
  const title = `${group.values[0] || "(none)"}: ${group.rows} pods, ${group.aggregates[0]?.sum} restarts`;
  return <>
    <tbody><tr><th colSpan={columns.length}>
      <button aria-expanded={open} onClick={() => setOpen(!open)}>{title}</button>
    </th></tr></tbody>
    {open && <Rows query={groupQuery(query, group)} />}
  </>;
}

function Rows({ query }: { query: ViewOptions }) {
  const [limit, setLimit] = useState(50);
  const { rows, total } = useView("v1/pods", { ...query, limit });
  return <tbody>
    {rows.map(({ uid, namespace, name, cells }) => <tr key={uid}>
      <td>{namespace}</td><td>{name}</td>
      {columns.slice(2).map((column) => <td key={column}>{cells[column]}</td>)}
    </tr>)}
    {limit < total && <tr><td><button onClick={() => setLimit(limit + 50)}>More</button></td></tr>}
  </tbody>;
}

const app = <WatchglassProvider client={client}><Pods /></WatchglassProvider>;
createRoot(document.getElementById("root")!).render(app);

import { useMemo, useRef, useSyncExternalStore } from "react";
import type { Readable } from "watchglass/stores";

/**
 * Returns the values of stores, and renders the component again when one of them changes. `open`
 * creates the stores. The hook calls `open` again when `key` changes.
 */
export function useStores<Value>(key: string, open: () => Readable<Value>[]): readonly Value[] {
  // eslint-disable-next-line react-hooks/exhaustive-deps
  const stores = useMemo(open, [key]);
  const last = useRef<readonly Value[]>([]);
  const subscribe = useMemo(
    () => (changed: () => void) => {
      const stops = stores.map((store) => store.subscribe(changed));
      return () => stops.forEach((stop) => stop());
    },
    [stores],
  );
  const get = (): readonly Value[] => {
    const values = stores.map((store) => store.get());
    const same = values.length === last.current.length && values.every((value, i) => value === last.current[i]);
    return same ? last.current : (last.current = values);
  };
  return useSyncExternalStore(subscribe, get, get);
}

// Lists that pages load from the host: their items, whether they are there yet, and what to show if there are none.
import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";
import { reportErrors } from "../model/app-state";
import { getJson } from "../wire/http-api";

/** The response of a path; null until it is loaded. The second value loads it again. */
export function useLoaded<T>(path: string, query: Record<string, string | number | boolean> = {}): [T | null, () => void] {
  const [loaded, setLoaded] = useState<T | null>(null);
  const [version, setVersion] = useState(0);
  useEffect(() => {
    let isCurrent = true;
    void reportErrors(async () => {
      const response = await getJson<T>(path, query);
      if (isCurrent) setLoaded(response);
    });
    return () => void (isCurrent = false);
  }, [path, JSON.stringify(query), version]);
  return [loaded, () => setVersion((each) => each + 1)];
}

/** What a list is for and how to begin, where there is nothing in it. */
export function EmptyState({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="empty-state">
      <p>
        <strong>{title}</strong>
      </p>
      <p>{children}</p>
    </div>
  );
}

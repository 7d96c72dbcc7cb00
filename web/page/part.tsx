// The part for private queries, whose scripts and module are loaded when it is opened.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Failure } from "./parts.js";
import { reason } from "./words.js";

/** What the address bar names in the page. */
export function useHash(): string {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => {
    const go = () => setHash(location.hash);
    addEventListener("hashchange", go);
    return () => removeEventListener("hashchange", go);
  }, []);
  return hash;
}

/** `alone`: without letters around it. */
export function Part({ alone = false }: { alone?: boolean }) {
  const [View, setView] = useState<ComponentType<{ alone: boolean }>>();
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    import("./tables.js").then(
      ({ default: View }) => setView(() => View),
      (error: unknown) => setFailure(reason(error)),
    );
  }, []);
  return View === undefined ? <Failure text={failure} /> : <View alone={alone} />;
}

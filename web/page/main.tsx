import { render } from "preact";
import { App } from "./app.js";

const root = document.getElementById("page");
if (root !== null) render(<App />, root);
// Without it letters are read with a network alone.
navigator.serviceWorker?.register(new URL("sw.js", import.meta.url)).catch(() => {});

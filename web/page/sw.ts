// Keeps the page's own files, one version at a time, so that letters can be read without a network.
declare const FILES: string[];
declare const VERSION: string;

const worker = self as unknown as ServiceWorkerGlobalScope;
const kept = `letters ${VERSION}`;

worker.addEventListener("install", (event) => {
  event.waitUntil(keep());
});

worker.addEventListener("activate", (event) => {
  event.waitUntil(forget().then(() => worker.clients.claim()));
});

worker.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(answer(event.request));
});

async function keep(): Promise<void> {
  const cache = await caches.open(kept);
  await cache.addAll(["./", ...FILES].map((file) => new Request(file, { cache: "reload" })));
}

async function forget(): Promise<void> {
  const others = (await caches.keys()).filter((other) => other !== kept);
  await Promise.all(others.map((other) => caches.delete(other)));
}

async function answer(request: Request): Promise<Response> {
  const cache = await caches.open(kept);
  // Servers say that answers differ by origin, as those to other pages do.
  return (await cache.match(request, { ignoreSearch: true, ignoreVary: true })) ?? (await fetch(request));
}

export {};
